//go:build !linux

package emulator

import (
	"context"
	"errors"
)

// Build reports that the emulator exists for Linux only.
func Build(context.Context) (string, error) {
	return "", errors.New("emulator: the Metal emulator runs on Linux only")
}

//go:build !(darwin && cgo) && (linux || darwin) && (amd64 || arm64)

package main

import "errors"

func coreMLPlacement(string) (placement, error) {
	return placement{}, errors.New("--model needs macOS and a build with cgo")
}

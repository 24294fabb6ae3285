//go:build !((linux || (darwin && !nogpu)) && (amd64 || arm64))

package main

import (
	"context"
	"errors"
	"io"
)

var errNoMetal = errors.New("doctor --metal: there is no Metal here: it needs macOS, without -tags nogpu, or Linux with g++ for the emulator")

func runSelfCheck(context.Context, io.Writer, io.Writer, bool, bool) error { return errNoMetal }

func runPart(context.Context, string, bool, io.Writer) error { return errNoMetal }

func adviseSelfCheck(*report) []advice { return nil }

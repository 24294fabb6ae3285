//go:build amd64 || arm64

package main

import "golang.org/x/sys/unix"

const monotonic = unix.CLOCK_MONOTONIC

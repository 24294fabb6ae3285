//go:build !((linux || darwin) && (amd64 || arm64))

// Command completion measures the completion path of GPU requests; it needs Linux or macOS, on amd64 or arm64.
package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "completion: this needs Linux or macOS, on amd64 or arm64")
	os.Exit(1)
}

//go:build !(darwin && cgo)

// Command macdriver shows a column whose Metal buffer an application uses as well, one written with DarwinKit (macdriver).
package main

import "fmt"

func main() {
	fmt.Println("This example needs macOS and cgo: CGO_ENABLED=1 go run ./examples/macdriver on a Mac.")
}

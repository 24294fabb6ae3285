// Command build compiles the Metal emulator into the user's cache folder and
// prints the path of the shared library.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	path, err := emulator.Build(ctx)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(path)
}

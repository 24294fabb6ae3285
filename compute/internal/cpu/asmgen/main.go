// Command asmgen writes the assembly of package cpu, the declarations of
// its functions and the calls that choose among them. Run it through
// go generate in package cpu; a test of this package shows that what is
// committed is what it writes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("dir", ".", "folder of package cpu")
	flag.Parse()
	for name, text := range files() {
		if err := os.WriteFile(filepath.Join(*dir, name), text, 0o666); err != nil {
			fmt.Fprintln(os.Stderr, "asmgen:", err)
			os.Exit(1)
		}
	}
}

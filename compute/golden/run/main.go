// Command run runs the golden cases and prints, for each function, how many
// passed, failed and are unsupported, and the total last.
//
//	go run ./compute/golden/run                    the shipped cases
//	GOLDEN=dir go run ./compute/golden/run         those of another folder
//	go run ./compute/golden/run -function '^add' -v
package main

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"regexp"

	"github.com/broadhead-go/broadhead/compute/golden"
)

func main() {
	dir := flag.String("dir", os.Getenv("GOLDEN"), "folder of *.jsonl.gz files; empty for the shipped cases")
	function := flag.String("function", "", "regular expression of the Arrow names to run")
	verbose := flag.Bool("v", false, "print the cases that did not pass")
	worker := flag.Bool("worker", false, "answer cases from standard input (used by the command itself)")
	flag.Parse()
	if *worker {
		if err := golden.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "golden worker:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	failed, err := run(ctx, *dir, *function, *verbose)
	if err != nil {
		fmt.Fprintln(os.Stderr, "golden:", err)
	}
	if err != nil || failed > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, dir, function string, verbose bool) (failed int, err error) {
	pattern, err := regexp.Compile(function)
	if err != nil {
		return 0, fmt.Errorf("-function: %w", err)
	}
	var cases fs.FS = golden.Shipped()
	if dir != "" {
		cases = os.DirFS(dir)
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	isolated := golden.NewIsolated(self, "-worker")
	defer isolated.Close()
	total, err := golden.Report(ctx, os.Stdout, isolated.Run, cases, pattern, verbose)
	if err != nil && dir != "" {
		err = fmt.Errorf("%s: %w", dir, err)
	}
	return total[golden.Failed], err
}

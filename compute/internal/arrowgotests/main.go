// Command arrowgotests runs arrow-go's own tests of its compute package
// against this module's: the test files are arrow-go's, with only the import
// path of the compute package changed.
//
//	go run ./compute/internal/arrowgotests                     every external test file
//	go run ./compute/internal/arrowgotests -run Filter -v
//	go run ./compute/internal/arrowgotests -original           arrow-go against itself
//
// The tests import arrow-go's internal packages, which only its own module may
// do. So its module is copied from the module cache to a temporary folder, the
// tests go into a folder of their own under arrow/compute there, and a go.work
// file joins the copy with this module.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// exclusion is a test that cannot hold here, and why.
type exclusion struct{ test, reason string }

// exclusions are given to go test's -skip. An excluded test is printed with
// its reason on every run.
var exclusions = []exclusion{
	{"^TestUnaryArithmetic$/^TestLog#09$/^checked=", wrongLog},
	{"^TestBinaryArithmetic$/^TestLog#09$", wrongLog},
}

// wrongLog: of the smallest float64 these tests expect what math.Log gives where they run.
const wrongLog = "they expect math.Log's answer for a subnormal, which is -709.09 on amd64 and rightly -744.44 elsewhere"

type config struct {
	run      string
	verbose  bool
	original bool
}

func main() {
	var c config
	flag.StringVar(&c.run, "run", "", "regular expression of the tests to run, subtests included, as for go test")
	flag.BoolVar(&c.verbose, "v", false, "print the tests' output as it comes")
	flag.BoolVar(&c.original, "original", false, "leave the import path as it is")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	passed, failed, err := run(ctx, c)
	if err != nil {
		fmt.Fprintln(os.Stderr, "arrowgotests:", err)
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if err != nil || failed > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) (passed, failed int, err error) {
	arrowDir, ourDir, err := moduleDirs(ctx)
	if err != nil {
		return 0, 0, err
	}
	temp, err := os.MkdirTemp("", "arrowgotests-")
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()

	if err := prepare(ctx, temp, arrowDir, ourDir, c.original); err != nil {
		return 0, 0, err
	}
	for _, e := range exclusions {
		fmt.Printf("excluded %s: %s\n", e.test, e.reason)
	}
	return goTest(ctx, temp, c)
}

//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"fmt"
	"io"
	"runtime"
)

const (
	leakCalls  = 20_000
	leakRows   = 8     // of the matrix: a short call, since what leaks does so by calls
	leakLooks  = 10    // at the memory, after equally many calls
	leakAllows = 2_048 // KiB from the second look to the last: what the runtime itself may still take
)

// leak makes native calls on a worker thread and looks at the memory of the process. Where the calls are Core ML's, each has
// an autorelease pool of its own; without one what they return would stay.
func leak(out io.Writer, calls int, call func() error) error {
	resident := make([]int64, 0, leakLooks)
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		for i := range calls {
			if err := call(); err != nil {
				done <- err
				return
			}
			if (i+1)%(calls/leakLooks) == 0 {
				resident = append(resident, residentKiB())
				fmt.Fprintf(out, "%6d calls: %d KiB resident\n", i+1, resident[len(resident)-1])
			}
		}
		done <- nil
	}()
	if err := <-done; err != nil {
		return err
	}
	if grown := resident[len(resident)-1] - resident[1]; grown > leakAllows {
		return fmt.Errorf("memory grew by %d KiB in %d calls", grown, calls*8/10)
	}
	fmt.Fprintln(out, "flat")
	return nil
}

// releasedCalls returns the short native call that leak makes.
func releasedCalls() func() error {
	m := newMatrices(make([]byte, matrixBytes))
	m.rows = leakRows
	return func() error {
		m.multiplyReleased()
		return nil
	}
}

//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// placementCost is what a placement takes before its first answer, in a process of its own.
type placementCost struct {
	Config   string    `json:"config"`
	ReadyMs  []float64 `json:"ready_ms"`     // from opening the load to its first answer
	Memory   []int64   `json:"resident_kib"` // of all processes that it needs
	Children int       `json:"worker_processes"`
}

const startups = 5

// startupCosts starts a process for each placement, several times, in turn.
func startupCosts(rows int) ([]placementCost, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	costs := make([]placementCost, len(placements))
	for range startups {
		for i, p := range placements {
			out, err := exec.Command(self, "startup", "--config", p.name, "--rows", strconv.Itoa(rows)).Output()
			if err != nil {
				return nil, fmt.Errorf("startup of %s: %w", p.name, err)
			}
			var ms float64
			var kib int64
			c := &costs[i]
			if _, err := fmt.Sscan(strings.TrimSpace(string(out)), &ms, &kib, &c.Children); err != nil {
				return nil, fmt.Errorf("startup of %s: %q: %w", p.name, out, err)
			}
			c.Config = p.name
			c.ReadyMs, c.Memory = append(c.ReadyMs, ms), append(c.Memory, kib)
		}
	}
	return costs, nil
}

// startup is the process that startupCosts starts: it prints a line.
func startup(config string, rows int) error {
	p, err := placementNamed(config)
	if err != nil {
		return err
	}
	began := time.Now()
	l, err := p.open(rows)
	if err != nil {
		return err
	}
	defer l.close()
	if _, _, right, err := l.do(); err != nil || !right {
		return fmt.Errorf("first answer: right %v, %w", right, err)
	}
	ready := time.Since(began)
	kib, children := residentKiB(), 0
	if r, ok := l.(*remote); ok {
		kib += residentOf(r.cmd.Process.Pid)
		children++
	}
	fmt.Printf("%.3f %d %d\n", float64(ready)/1e6, kib, children)
	runtime.KeepAlive(l)
	return nil
}

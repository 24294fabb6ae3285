//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// Finding is one thing that a self-check looked at.
type Finding struct {
	Part   string        `json:"part"` // the part of the check it belongs to, such as "selectors"
	Name   string        `json:"name"`
	OK     bool          `json:"ok"`
	Detail string        `json:"detail"`
	Took   time.Duration `json:"took_ns"`
}

// CheckOptions are what a self-check needs to know.
type CheckOptions struct {
	Driver string    // the name that the device's Info carries
	Keys   []msl.Key // the kernels to compile
	Quick  bool      // fewer repetitions: times are rough
}

// SelfCheck looks whether a Metal framework is what this driver was written for, where nobody has tried: it compares every
// message's type encoding with the runtime's, reads the device's limits, runs some commands of each kind, compiles
// kernels, and measures latency and bandwidth. emit gets each finding as soon as it is there, since a framework that is
// not as expected may end the process. It runs on the system's default device; on a linked emulator as well.
//
// The error is that of Open, or ctx's; what is wrong with the device is a finding that is not OK.
func SelfCheck(ctx context.Context, libs Libs, o CheckOptions, emit func(Finding)) error {
	devices, err := Open(libs, o.Driver)
	if err != nil {
		return err
	}
	for _, other := range devices[1:] {
		if err := other.Close(); err != nil {
			return err
		}
	}
	c := &checker{ctx: ctx, libs: libs, options: o, dev: devices[0].(*device), emit: emit}
	for _, part := range []func(*checker){
		(*checker).selectors, (*checker).limits, (*checker).commands, (*checker).kernels, (*checker).times,
	} {
		if err := ctx.Err(); err != nil {
			return err
		}
		part(c)
	}
	if err := c.dev.Close(); err != nil {
		emit(Finding{Part: "commands", Name: "close", Detail: err.Error()})
	}
	return ctx.Err()
}

// checker is a self-check under way.
type checker struct {
	ctx     context.Context
	libs    Libs
	options CheckOptions
	dev     *device
	emit    func(Finding)
}

// try runs one check. A panic is a finding as well.
func (c *checker) try(part, name string, check func() (detail string, err error)) {
	f := Finding{Part: part, Name: name}
	start := time.Now()
	func() {
		defer func() {
			if p := recover(); p != nil {
				f.OK, f.Detail = false, fmt.Sprint("panic: ", p)
			}
		}()
		detail, err := check()
		f.OK, f.Detail = err == nil, detail
		if err != nil {
			f.Detail = err.Error()
		}
	}()
	f.Took = time.Since(start)
	c.emit(f)
}

// selectors compares the table of messages with the runtime, a finding for each that differs.
func (c *checker) selectors() {
	c.try("selectors", "table of messages", func() (string, error) {
		differences, err := checkSelectors(c.libs)
		if err != nil {
			return "", err
		}
		for _, d := range differences {
			c.emit(Finding{Part: "selectors", Name: "message", Detail: d})
		}
		if len(differences) > 0 {
			return "", fmt.Errorf("%d of %d messages are not as assumed", len(differences), len(selectors))
		}
		return fmt.Sprintf("all %d messages are understood, with the encodings that the calls assume", len(selectors)), nil
	})
}

// limits compares what the device allows with what kernels need.
func (c *checker) limits() {
	info := c.dev.Info()
	for _, l := range []struct {
		name        string
		have, least int64
	}{
		{"threadgroup memory, bytes", int64(info.ThreadgroupBytes), 32 << 10},
		{"largest buffer, bytes", info.MaxBufferBytes, 256 << 20},
		{"memory that the GPU should use at most, bytes", info.MemoryBytes, 256 << 20},
	} {
		c.try("limits", l.name, func() (string, error) {
			if l.have < l.least {
				return "", fmt.Errorf("%d, less than %d", l.have, l.least)
			}
			return fmt.Sprint(l.have), nil
		})
	}
	c.try("limits", "page, bytes", func() (string, error) {
		if system := os.Getpagesize(); pageSize%system != 0 {
			return "", fmt.Errorf("the system's have %d, which does not divide %d", system, pageSize)
		}
		return fmt.Sprintf("%d; the system's %d", pageSize, os.Getpagesize()), nil
	})
	c.try("limits", "families", func() (string, error) {
		s := c.dev.rt.begin()
		defer s.end()
		newest := 0
		for family := familyApple7; family < familyApple7+20; family++ {
			if s.sendBool(c.dev.id, selSupportsFamily, uintptr(family)) {
				newest = family
			}
		}
		if newest == 0 {
			return "", fmt.Errorf("none from Apple7 on: %w", gpu.ErrUnsupported)
		}
		return fmt.Sprintf("the newest is Apple%d", newest-1000), nil
	})
}

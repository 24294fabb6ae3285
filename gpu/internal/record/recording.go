// Package record is what the drivers' gpu.Commands have in common: they write down what a program asks for, check it and
// keep what it names alive. Nothing of a device is touched before Commit, so a recording that is discarded costs nothing.
package record

import "sync"

// Limits of a dispatch, the same for every driver.
const (
	MaxArgs  = 31   // indices of the buffer table
	MaxBytes = 4096 // of an argument by value
	RowSize  = 65536
)

// Fold folds threadgroups into rows, since devices count a dimension in 32 bits or less. The last row may have more than
// was asked for.
func Fold(groups int) (x, y uintptr) {
	if groups <= RowSize {
		return uintptr(groups), 1
	}
	return RowSize, uintptr((groups + RowSize - 1) / RowSize)
}

// StepKind is what a step does.
type StepKind uint8

const (
	Dispatch StepKind = iota
	Copy
	Barrier
)

// Held is what a recording keeps alive, a buffer or a pipeline of a driver.
type Held interface {
	comparable
	Hold() bool
	Unhold()
}

// Step is one recorded command.
type Step[P, B Held] struct {
	Kind StepKind

	Pipe            P // dispatch
	Groups, Threads int
	from, to        int // its bindings

	Dst, Src       B // copy
	DstOff, SrcOff int
	N              int
}

// Binding is one argument: a buffer, or bytes [From, To) of the recording's, or nothing.
type Binding[B Held] struct {
	Buf      B
	Off      int
	From, To int
}

// keeper is a Go object that must outlive the work.
type keeper struct {
	owner   any
	release func()
}

// Recording is what Commit hands to the device, and what stays alive until the work has ended.
type Recording[P, B Held] struct {
	Steps    []Step[P, B]
	Bytes    []byte
	bindings []Binding[B]
	keepers  []keeper
	err      error // the first of recording
	home     *sync.Pool
}

// Err is the first error of recording.
func (r *Recording[P, B]) Err() error { return r.err }

// Args are the bindings of a dispatch.
func (r *Recording[P, B]) Args(s *Step[P, B]) []Binding[B] { return r.bindings[s.from:s.to] }

// HasWork says whether a device has anything to do.
func (r *Recording[P, B]) HasWork() bool {
	for i := range r.Steps {
		if r.Steps[i].Kind != Barrier {
			return true
		}
	}
	return false
}

// Retain keeps owner reachable, and calls release, if there is one, when the work has ended.
func (r *Recording[P, B]) Retain(owner any, release func()) {
	r.keepers = append(r.keepers, keeper{owner, release})
}

// GiveBack releases everything the recording kept alive and makes it free for another.
func (r *Recording[P, B]) GiveBack() {
	for i := range r.Steps {
		switch s := &r.Steps[i]; s.Kind {
		case Dispatch:
			s.Pipe.Unhold()
		case Copy:
			s.Dst.Unhold()
			s.Src.Unhold()
		}
	}
	var none B
	for i := range r.bindings {
		if b := r.bindings[i].Buf; b != none {
			b.Unhold()
		}
	}
	for _, k := range r.keepers {
		if k.release != nil {
			k.release()
		}
	}
	clear(r.Steps)
	clear(r.bindings)
	clear(r.keepers)
	r.Steps, r.bindings, r.Bytes, r.keepers = r.Steps[:0], r.bindings[:0], r.Bytes[:0], r.keepers[:0]
	r.err = nil
	r.home.Put(r)
}

//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"sync"

	"github.com/ebitengine/purego"

	"github.com/broadhead-go/broadhead/gpu"
)

// slot is what one commit in flight needs: a shared event, whose value rises by one with each use, so that it tells of
// this commit and no other; a fence, if the commit has several encoders; and the command buffer of its last use.
type slot struct {
	rt    *objc
	event id
	fence id // made when first needed
	value uint64
	poll  [2]uintptr // the message that reads the event

	mu      sync.Mutex // guards the two below
	last    *event     // whose command buffer this is
	command id
}

// slotPool holds the slots that no commit in flight uses, the longest unused first: times of a commit can be asked for
// until its slot is used again.
type slotPool struct {
	mu   sync.Mutex
	idle []*slot
	made int
}

// keptSlots is how many slots are made before one is used again.
const keptSlots = 32

// take returns a slot with its next value.
func (p *slotPool) take(s *session, dev id) (*slot, error) {
	p.mu.Lock()
	var sl *slot
	if len(p.idle) > 0 && p.made >= keptSlots {
		sl = p.idle[0]
		p.idle = append(p.idle[:0], p.idle[1:]...)
	} else {
		p.made++
	}
	p.mu.Unlock()
	if sl == nil {
		event := id(s.send(dev, selNewSharedEvent))
		if event == 0 {
			p.mu.Lock()
			p.made--
			p.mu.Unlock()
			return nil, fmt.Errorf("%w: Metal gives no shared event", gpu.ErrOutOfMemory)
		}
		sl = &slot{rt: s.rt, event: event, poll: [2]uintptr{uintptr(event), s.rt.sel[selSignaledValue]}}
	}
	sl.value++
	return sl, nil
}

// put makes a slot free for another commit.
func (p *slotPool) put(sl *slot) {
	p.mu.Lock()
	p.idle = append(p.idle, sl)
	p.mu.Unlock()
}

// free frees all slots; none is in use.
func (p *slotPool) free(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sl := range p.idle {
		sl.attach(s, nil, 0)
		s.release(sl.event)
		if sl.fence != 0 {
			s.release(sl.fence)
		}
	}
	p.idle = nil
}

// attach makes a command buffer the slot's, in place of the last, which is released. It takes a reference.
func (sl *slot) attach(s *session, e *event, command id) {
	if command != 0 {
		s.retain(command)
	}
	sl.mu.Lock()
	old := sl.command
	sl.last, sl.command = e, command
	sl.mu.Unlock()
	if old != 0 {
		s.release(old)
	}
}

// commandOf returns the command buffer of an event with a reference for the caller, or 0 if the slot serves another.
func (sl *slot) commandOf(s *session, e *event) id {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.last != e {
		return 0
	}
	s.retain(sl.command)
	return sl.command
}

// signaled reads the event.
func (sl *slot) signaled() uint64 {
	r, _, _ := purego.SyscallN(sl.rt.msgSend, sl.poll[:]...)
	return uint64(r)
}

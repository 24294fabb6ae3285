//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"context"
	"fmt"

	"github.com/broadhead-go/broadhead/gpu"
)

// Commit encodes the recording into a command buffer that signals the event of a slot as its last deed.
func (c *commands) Commit() (gpu.Event, error) {
	e := &event{dev: c.Dev}
	if err := c.commit(e); err != nil {
		return nil, err
	}
	return e, nil
}

// Run commits and waits. Its event is the commands' own, used again where nobody looks at it any more.
func (c *commands) Run(ctx context.Context) error {
	if c.own == nil {
		c.own = &event{dev: c.Dev}
	}
	e := c.own
	err := c.commit(e)
	if err == nil {
		err = e.Wait(ctx)
	}
	if err != nil || !c.Dev.Ends.Reusable(&e.Completion) {
		c.own = nil
	}
	if err == nil {
		c.Commands = recordings.Begin(c.Dev)
	}
	return err
}

// commit hands the recording to the device as e's.
func (c *commands) commit(e *event) error {
	r, err := c.Take()
	if err != nil {
		return err
	}
	d := c.Dev
	if err := d.Enter(); err != nil {
		r.GiveBack()
		return err
	}
	defer d.Leave()
	if err := r.Err(); err != nil {
		r.GiveBack()
		return err
	}
	e.rec = r
	if !r.HasWork() {
		r.GiveBack()
		d.Ends.StartEnded(&e.Completion)
		return nil
	}
	if err := d.encode(e); err != nil {
		r.GiveBack()
		return err
	}
	d.Ends.Start(&e.Completion, e)
	return nil
}

// encode writes e's recording into a command buffer and commits it.
func (d *device) encode(e *event) error {
	s := d.rt.begin()
	defer s.end()
	sl, err := d.slots.take(s, d.id)
	if err != nil {
		return err
	}
	command := id(s.send(d.queue, selCommandBuffer))
	if command == 0 {
		d.slots.put(sl)
		return fmt.Errorf("%w: Metal gives no command buffer", gpu.ErrOutOfMemory)
	}
	enc := encoder{session: s, dev: d, slot: sl, command: command, rec: e.rec}
	if err := enc.all(); err != nil {
		d.slots.put(sl)
		return err
	}
	s.send(command, selSignalEvent, uintptr(sl.event), uintptr(sl.value))
	e.slot, e.value = sl, sl.value
	sl.attach(s, e, command)
	s.send(command, selCommit)
	return nil
}

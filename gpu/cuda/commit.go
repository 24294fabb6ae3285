//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"errors"

	"github.com/broadhead-go/broadhead/gpu"
)

// A commit is timed from so many threadgroups or copied bytes on: two events cost some microseconds.
const (
	timedGroups = 512
	timedBytes  = 4 << 20
)

// Commit launches the recording on a stream, which writes the word of a slot as its last deed.
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
	return d.launch(e)
}

// worthTiming says whether the recording is large enough.
func worthTiming(r *recording) bool {
	groups, bytes := 0, 0
	for i := range r.Steps {
		groups += r.Steps[i].Groups
		bytes += r.Steps[i].N
	}
	return groups >= timedGroups || bytes >= timedBytes
}

// commandsOf is about how many commands the recording puts on its stream, the word and the events included.
func commandsOf(r *recording) int { return len(r.Steps) + 3 }

// launch puts e's recording on a stream. While all streams are full it waits.
func (d *device) launch(e *event) error {
	for {
		room, err := d.launchInto(e)
		if room == nil {
			return err
		}
		select {
		case <-room:
		case <-d.Ends.Failed():
			e.rec.GiveBack()
			return d.Lost()
		}
	}
}

// launchInto puts e's recording on a stream that has room, or returns what tells of room.
func (d *device) launchInto(e *event) (<-chan struct{}, error) {
	s, err := d.ctx.begin()
	if err != nil {
		e.rec.GiveBack()
		return nil, d.Lose(err.Error())
	}
	defer s.end()
	sl, room, err := d.slots.take(d, s, commandsOf(e.rec))
	if err != nil {
		e.rec.GiveBack()
	}
	if sl == nil {
		return room, err
	}
	q := queue{session: s, dev: d, stream: sl.stream.handle, rec: e.rec, slot: sl}
	defer q.forget()
	e.slot, e.stream, e.value = sl, q.stream, sl.value
	e.timed = worthTiming(e.rec) && sl.timer(s) && s.call(cuEventRecord, sl.start, q.stream) == success
	e.graph, err = q.launch()
	if e.timed {
		e.timed = s.call(cuEventRecord, sl.end, q.stream) == success
	}
	// A recording of which only a part runs has an end as well, and what it names lives until then.
	if st := s.call(cuStreamWriteValue64, q.stream, sl.at, uintptr(sl.value), 0); st != success {
		if err == nil {
			err = d.judge(st)
		}
		stream := sl.stream.handle // a closure over q would have every commit allocate it
		if d.patiently(func() error { return d.synchronize(stream) }, nil) == nil {
			e.Finish()
			return nil, err
		}
	}
	d.Ends.Start(&e.Completion, e)
	if errors.Is(err, errHeldUp) {
		err = e.Wait(context.Background())
	}
	return nil, err
}

// synchronize waits until everything on a stream has ended, well or badly.
func (d *device) synchronize(stream uintptr) error {
	s, err := d.ctx.begin()
	if err != nil {
		return err
	}
	defer s.end()
	s.call(cuStreamSynchronize, stream)
	return nil
}

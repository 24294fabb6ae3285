//go:build linux && (amd64 || arm64)

package cuda

import (
	"slices"

	"github.com/broadhead-go/broadhead/gpu"
)

// A commit is timed from so many threadgroups or copied bytes on: two events cost some microseconds.
const (
	timedGroups = 512
	timedBytes  = 4 << 20
)

// Commit launches the recording on a stream, which writes the word of a slot as its last deed.
func (c *commands) Commit() (gpu.Event, error) {
	r, d := c.rec, c.dev
	if r == nil {
		return nil, errSpent
	}
	c.rec = nil
	if err := d.enter(); err != nil {
		r.giveBack()
		return nil, err
	}
	defer d.leave()
	if r.err != nil {
		err := r.err
		r.giveBack()
		return nil, err
	}
	e := &event{dev: d, rec: r}
	if !r.hasWork() {
		r.giveBack()
		d.ends.StartEnded(&e.Completion)
		return e, nil
	}
	if err := d.launch(e); err != nil {
		r.giveBack()
		return nil, err
	}
	d.ends.Start(&e.Completion, e)
	return e, nil
}

func (r *recording) hasWork() bool {
	return slices.ContainsFunc(r.steps, func(c command) bool { return c.kind != barrierCommand })
}

// worthTiming says whether the recording is large enough.
func (r *recording) worthTiming() bool {
	groups, bytes := 0, 0
	for i := range r.steps {
		groups += r.steps[i].groups
		bytes += r.steps[i].n
	}
	return groups >= timedGroups || bytes >= timedBytes
}

// launch puts e's recording on a stream.
func (d *device) launch(e *event) error {
	s, err := d.ctx.begin()
	if err != nil {
		return d.lose(err.Error())
	}
	defer s.end()
	sl, err := d.slots.take(d, s)
	if err != nil {
		return err
	}
	q := queue{session: s, dev: d, stream: sl.stream.handle, rec: e.rec}
	e.slot, e.stream, e.value = sl, q.stream, sl.value
	e.timed = e.rec.worthTiming() && sl.timer(s) && s.call(cuEventRecord, sl.start, q.stream) == success
	if err := q.all(); err != nil {
		q.abandon(sl)
		return err
	}
	if e.timed {
		e.timed = s.call(cuEventRecord, sl.end, q.stream) == success
	}
	if st := s.call(cuStreamWriteValue64, q.stream, sl.at, uintptr(sl.value), 0); st != success {
		err := d.judge(st)
		q.abandon(sl)
		return err
	}
	return nil
}

// abandon gives up a recording of which a part may run: what it names must live until that has ended.
func (q *queue) abandon(sl *slot) {
	q.call(cuStreamSynchronize, q.stream)
	q.dev.slots.put(sl)
}

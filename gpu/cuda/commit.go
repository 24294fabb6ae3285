//go:build linux && (amd64 || arm64)

package cuda

import "github.com/broadhead-go/broadhead/gpu"

// A commit is timed from so many threadgroups or copied bytes on: two events cost some microseconds.
const (
	timedGroups = 512
	timedBytes  = 4 << 20
)

// Commit launches the recording on a stream, which writes the word of a slot as its last deed.
func (c *commands) Commit() (gpu.Event, error) {
	r, err := c.Take()
	if err != nil {
		return nil, err
	}
	d := c.Dev
	if err := d.Enter(); err != nil {
		r.GiveBack()
		return nil, err
	}
	defer d.Leave()
	if err := r.Err(); err != nil {
		r.GiveBack()
		return nil, err
	}
	e := &event{dev: d, rec: r}
	if !r.HasWork() {
		r.GiveBack()
		d.Ends.StartEnded(&e.Completion)
		return e, nil
	}
	if err := d.launch(e); err != nil {
		r.GiveBack()
		return nil, err
	}
	d.Ends.Start(&e.Completion, e)
	return e, nil
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

// launch puts e's recording on a stream.
func (d *device) launch(e *event) error {
	s, err := d.ctx.begin()
	if err != nil {
		return d.Lose(err.Error())
	}
	defer s.end()
	sl, err := d.slots.take(d, s)
	if err != nil {
		return err
	}
	q := queue{session: s, dev: d, stream: sl.stream.handle, rec: e.rec}
	e.slot, e.stream, e.value = sl, q.stream, sl.value
	e.timed = worthTiming(e.rec) && sl.timer(s) && s.call(cuEventRecord, sl.start, q.stream) == success
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

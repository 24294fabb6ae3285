//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// requests are the rows of one client, a column each, in microseconds after the window's start. Columns that a client
// does not have are empty.
type requests struct {
	Arrival    []int64 `json:"arrival,omitempty"` // when it was due
	Submit     []int64 `json:"submit"`
	Dispatch   []int64 `json:"dispatch,omitempty"`  // handed to the device
	Start      []int64 `json:"service_start"`       // the device's own stamps
	End        []int64 `json:"service_end"`         //
	Observed   []int64 `json:"observed,omitempty"`  // the first Go instruction after the wait
	Unpacked   []int64 `json:"unpacked,omitempty"`  // the answer is read and checked
	Delivered  []int64 `json:"delivered,omitempty"` // sent to the client
	Received   []int64 `json:"received"`            // the client has it
	Mismatches int     `json:"mismatches"`          // answers that are wrong, in and around the measured span
	Failures   int     `json:"failures,omitempty"`  // requests that the device failed
}

// columns are all of a client's.
func (r *requests) columns(gpu bool) []*[]int64 {
	all := []*[]int64{&r.Submit, &r.Start, &r.End, &r.Received}
	if gpu {
		all = append(all, &r.Arrival, &r.Dispatch, &r.Observed, &r.Unpacked, &r.Delivered)
	}
	return all
}

// check says whether every row has all its stamps.
func (r *requests) check(gpu bool) error {
	for _, c := range r.columns(gpu) {
		if len(*c) != len(r.Submit) {
			return fmt.Errorf("columns of %d and %d rows", len(r.Submit), len(*c))
		}
	}
	return nil
}

// window is one measured span of one cell.
type window struct {
	Config   string `json:"config"`
	Pressure string `json:"pressure"`
	Cell     string `json:"cell"`
	Cycle    int    `json:"cycle"`

	Procs   int        `json:"gomaxprocs"`
	Loads   int        `json:"loads"`
	Seconds float64    `json:"seconds"`
	Rate    float64    `json:"rate,omitempty"` // of the GPU client, per second; 0: closed loop
	Hash    string     `json:"arrivals_sha256,omitempty"`
	GPU     *requests  `json:"gpu,omitempty"`
	Second  []requests `json:"second,omitempty"` // a load each

	CPU       float64 `json:"cpu_seconds"` // of this process and its workers
	Others    float64 `json:"other_cores"` // that other processes used
	Load      float64 `json:"load_average"`
	GCStop    float64 `json:"gc_stop_ms"`   // the worst stop phase of the garbage collector
	SchedP99  float64 `json:"sched_p99_ms"` // how long goroutines were ready without a processor
	WaitStack states  `json:"waiter,omitempty"`
}

// states says how long a goroutine was in each state of the scheduler, in milliseconds, from an execution trace.
type states map[string]float64

// key names a window, so that a run that was broken off can go on.
func (w *window) key() string {
	return fmt.Sprintf("%s/%s/%s/%d", w.Pressure, w.Cell, w.Config, w.Cycle)
}

// header is the first line of a raw file.
type header struct {
	Criteria string  `json:"criteria_sha256"` // of the file that was there before the run
	Machine  string  `json:"machine"`
	Device   string  `json:"device"`
	Cores    int     `json:"cores"`
	Go       string  `json:"go"`
	Platform string  `json:"platform"`
	Began    string  `json:"began"`
	Command  string  `json:"command"`
	Service  float64 `json:"service_ms"` // of a GPU request
	CallMs   float64 `json:"call_ms"`    // of the second device, in one call of assembly, alone
	Rows     int     `json:"rows"`       // of the matrix that this takes
}

// rawFile is lines of JSON, each its own member of a gzip file, so that a run can add to what an earlier one left.
type rawFile struct{ path string }

// add appends a line, in one write: a run that is killed leaves whole lines.
func (r rawFile) add(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	var member bytes.Buffer
	zip, _ := gzip.NewWriterLevel(&member, gzip.BestCompression)
	_, err = zip.Write(append(text, '\n'))
	if err := errors.Join(err, zip.Close()); err != nil {
		return err
	}
	f, err := os.OpenFile(r.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(member.Bytes())
	return errors.Join(err, f.Close())
}

// read returns what the file holds. A last line that was cut off by a crash is an error, since all others may be too.
func (r rawFile) read() (h header, all []*window, err error) {
	f, err := os.Open(r.path)
	if err != nil {
		return h, nil, err
	}
	defer f.Close()
	zip, err := gzip.NewReader(bufio.NewReader(f))
	if err != nil {
		return h, nil, fmt.Errorf("%s: %w", r.path, err)
	}
	dec := json.NewDecoder(zip)
	if err := dec.Decode(&h); err != nil {
		return h, nil, fmt.Errorf("%s: header: %w", r.path, err)
	}
	for {
		w := new(window)
		switch err := dec.Decode(w); {
		case errors.Is(err, io.EOF):
			return h, all, nil
		case err != nil:
			return h, all, fmt.Errorf("%s: after %d windows: %w", r.path, len(all), err)
		}
		if w.GPU != nil {
			err = w.GPU.check(true)
		}
		for i := range w.Second {
			err = errors.Join(err, w.Second[i].check(false))
		}
		if err != nil {
			return h, all, fmt.Errorf("%s: window %s: %w", r.path, w.key(), err)
		}
		all = append(all, w)
	}
}

package latency

import (
	"fmt"
	"strconv"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
	"github.com/broadhead-go/broadhead/resident"
)

// costs adds a row of wall and CPU time.
func (l *lab) costs(t *Table, name string, f func()) {
	f()
	used, start := cpuTime(), time.Now()
	_, median := l.times(l.calls, f)
	cpu, wall := cpuTime()-used, time.Since(start)
	n := Number(l.calls + l.calls/10 + 1)
	t.add(name, median, micros(cpu)/n, Number(float64(cpu)/float64(wall)))
}

// residentProbe asks whether a kernel can stay.
func (l *lab) residentProbe() {
	t := l.table("Resident probe", "Doorbells that a running kernel saw of those the CPU rang; the echo is CPU to kernel to CPU.",
		"form", "rung", "seen", "first seen after", "echo, median", "heartbeat after")
	r, err := resident.Probe(l.ctx, l.dev, resident.Options{})
	if l.check(err); err != nil {
		return
	}
	since := func(d time.Duration) Number {
		if d < 0 {
			return missing
		}
		return micros(d)
	}
	for _, row := range r.Rows {
		if row.Err != nil {
			t.Rows = append(t.Rows, Row{Label: row.Form, Text: "the compiler does not take it"})
			continue
		}
		t.add(row.Form, Number(row.Sent), Number(row.Seen), since(row.FirstSeen), since(row.Echo), since(row.Heartbeat))
	}
}

// residentWorker measures the worker without the engine.
func (l *lab) residentWorker() {
	if !resident.Available(l.dev) {
		l.table("Resident worker", "Not available on this device.", "operation")
		return
	}
	w, err := resident.NewWorker(l.dev, resident.WorkerOptions{})
	if l.check(err); err != nil {
		return
	}
	defer w.Close()
	const most = 1 << 20
	column, err := l.dev.Alloc(8*most, gpu.Private)
	if l.check(err); err != nil {
		return
	}
	defer column.Release()
	out, err := l.dev.Alloc(8*most, gpu.Private)
	if l.check(err); err != nil {
		return
	}
	defer out.Release()
	t := l.table("Resident worker", "Tasks from Go over int64 in the device's memory. SMs held while it runs: "+fmt.Sprint(w.Threadgroups())+" threadgroups of 256 threads.",
		"task", "min", "median", "CPU us")
	words := make([]uint32, most/32)
	measure := func(name string, tasks []gpu.Task) {
		used := cpuTime()
		shortest, median := l.times(4*l.calls, func() { l.check(w.Do(l.ctx, tasks)) })
		t.add(name, shortest, median, micros(cpuTime()-used)/Number(4*l.calls+4*l.calls/10+1))
	}
	in := gpu.View{Buf: column}
	for _, n := range []int{1000, 4096, 16_384, 65_536, 262_144, most} {
		rows := " of " + strconv.Itoa(n) + " rows"
		measure("sum"+rows, []gpu.Task{{Op: gpu.WorkerSum, Type: msl.I64, N: n, A: in}})
		measure("compare"+rows, []gpu.Task{{Op: gpu.WorkerGreater, Type: msl.I64, N: n, A: in, Literal: 5, Bits: words[:(n+31)/32]}})
		measure("add, stays there,"+rows, []gpu.Task{{Op: gpu.WorkerAdd, Type: msl.I64, N: n, A: in, Literal: 5, Out: gpu.View{Buf: out}}})
	}
	chain := make([]gpu.Task, 10)
	for i := range chain {
		chain[i] = gpu.Task{Op: gpu.WorkerAdd, Type: msl.I64, N: 1000, A: gpu.View{Buf: out, Off: 8000 * i}, Literal: 1, Out: gpu.View{Buf: out, Off: 8000 * (i + 1)}}
	}
	measure("chain of ten adds of 1000 rows", chain)
	times := make([]time.Duration, 0, 20)
	for range cap(times) {
		time.Sleep(5 * time.Millisecond) // the kernel has ended by then
		start := time.Now()
		l.check(w.Do(l.ctx, []gpu.Task{{Op: gpu.WorkerSum, Type: msl.I64, N: 1000, A: in}}))
		times = append(times, time.Since(start))
	}
	shortest, median := stats(times)
	t.add("sum of 1000 rows after idling, the launch included", shortest, median, missing)
}

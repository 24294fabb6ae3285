//go:build (linux || darwin) && (amd64 || arm64)

package main

import "slices"

// cell is what is known of one cell of one configuration, all cycles taken together.
type cell struct {
	Pressure string  `json:"pressure"`
	Cell     string  `json:"cell"`
	Config   string  `json:"config"`
	Cycles   int     `json:"cycles"`
	Seconds  float64 `json:"seconds"`

	Return    quantity  `json:"return_leg"`
	PerCycle  []float64 `json:"return_p50_per_cycle"`
	Occupancy quantity  `json:"occupancy"`
	Service   quantity  `json:"service"`
	EndToEnd  quantity  `json:"gpu_end_to_end"`
	Steps     steps     `json:"return_steps_p50"`
	Requests  float64   `json:"gpu_requests_per_second"`

	Second        quantity `json:"second_end_to_end"`
	SecondService quantity `json:"second_service"`
	SecondRate    float64  `json:"second_requests_per_second"`
	CPU           float64  `json:"cpu_ms_per_second_request"`
	Cores         float64  `json:"cores"`

	GCStop     float64 `json:"gc_stop_ms"`
	SchedP99   float64 `json:"sched_p99_ms"`
	Others     float64 `json:"other_cores"`
	Mismatches int     `json:"mismatches"`
	Unordered  int     `json:"unordered_stamps"`
	Waiter     states  `json:"waiter_states_ms,omitempty"`

	legs []float64
}

// steps are the parts of the return leg.
type steps struct {
	Observed  float64 `json:"end_to_observed"`
	Unpacked  float64 `json:"observed_to_unpacked"`
	Delivered float64 `json:"unpacked_to_delivered"`
	Received  float64 `json:"delivered_to_received"`
}

// cellsOf gathers windows by cell, in the order of their first appearance.
func cellsOf(windows []*window) (all []*cell) {
	groups := map[string][]*window{}
	var order []string
	for _, w := range windows {
		name := w.Pressure + "/" + w.Cell + "/" + w.Config
		if groups[name] == nil {
			order = append(order, name)
		}
		groups[name] = append(groups[name], w)
	}
	for _, name := range order {
		all = append(all, gather(groups[name]))
	}
	return all
}

// gather makes a cell of its windows.
func gather(windows []*window) *cell {
	first := windows[0]
	c := &cell{Pressure: first.Pressure, Cell: first.Cell, Config: first.Config, Cycles: len(windows)}
	var occupancy, service, ends, second, secondService []float64
	var parts [4][]float64
	cpu := 0.0
	for _, w := range windows {
		c.Seconds += w.Seconds
		cpu += w.CPU
		c.Others = max(c.Others, w.Others)
		c.GCStop = max(c.GCStop, w.GCStop)
		c.SchedP99 = max(c.SchedP99, w.SchedP99)
		for k, v := range w.WaitStack {
			if c.Waiter == nil {
				c.Waiter = states{}
			}
			c.Waiter[k] += v
		}
		if g := w.GPU; g != nil {
			legs := between(g.End, g.Received)
			c.legs = append(c.legs, legs...)
			c.PerCycle = append(c.PerCycle, percentile(legs, 50))
			occupancy = append(occupancy, between(g.Dispatch, g.Received)...)
			service = append(service, between(g.Start, g.End)...)
			ends = append(ends, between(g.Arrival, g.Received)...)
			for i, pair := range [][2][]int64{{g.End, g.Observed}, {g.Observed, g.Unpacked}, {g.Unpacked, g.Delivered}, {g.Delivered, g.Received}} {
				parts[i] = append(parts[i], between(pair[0], pair[1])...)
			}
			c.Mismatches += g.Mismatches
			c.Unordered += unordered(g)
		}
		for i := range w.Second {
			s := &w.Second[i]
			second = append(second, between(s.Submit, s.Received)...)
			secondService = append(secondService, between(s.Start, s.End)...)
			c.Mismatches += s.Mismatches
		}
	}
	c.Return, c.Occupancy, c.Service, c.EndToEnd = quantityOf(c.legs), quantityOf(occupancy), quantityOf(service), quantityOf(ends)
	c.Steps = steps{percentile(parts[0], 50), percentile(parts[1], 50), percentile(parts[2], 50), percentile(parts[3], 50)}
	c.Second, c.SecondService = quantityOf(second), quantityOf(secondService)
	c.Requests, c.SecondRate = float64(len(c.legs))/c.Seconds, float64(len(second))/c.Seconds
	c.Cores = cpu / c.Seconds
	if len(second) > 0 {
		c.CPU = cpu * 1e3 / float64(len(second))
	}
	return c
}

// clockSlack is how far stamps of two clocks may seem to be out of order, in microseconds: the device's clock is tied to
// the host's by its fastest answer.
const clockSlack = 25

// unordered counts the rows whose stamps are not in the order of what happened.
func unordered(r *requests) (n int) {
	for i := range r.Submit {
		row := []int64{r.Arrival[i], r.Submit[i], r.Dispatch[i], r.Start[i] + clockSlack, r.End[i] + clockSlack,
			r.Observed[i] + clockSlack, r.Unpacked[i] + clockSlack, r.Delivered[i] + clockSlack, r.Received[i] + clockSlack}
		if !slices.IsSorted(row) {
			n++
		}
	}
	return n
}

// find returns a cell, nil if it was not measured.
func find(all []*cell, pressure, name, config string) *cell {
	for _, c := range all {
		if c.Pressure == pressure && c.Cell == name && c.Config == config {
			return c
		}
	}
	return nil
}

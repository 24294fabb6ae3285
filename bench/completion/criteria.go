//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// criteriaText was fixed before the runs; raw files hold its hash.
//
//go:embed criteria.json
var criteriaText []byte

// criteria are the limits of the verdict. Ratios compare the candidate with the configuration against which it is judged.
type criteria struct {
	Candidate string `json:"candidate"`
	Against   string `json:"against"`
	Control   string `json:"control"`

	EffectP1 float64 `json:"effect_p1_p50_ratio"` // return leg of against over control's, else nothing is shown
	EffectGC float64 `json:"effect_gc_p99_ratio"`

	ReturnMean float64            `json:"return_mean_ms"`
	ReturnP50  float64            `json:"return_p50_ms"`
	ReturnP95  float64            `json:"return_p95_ms"`
	ReturnP99  map[string]float64 `json:"return_p99_ms"` // by pressure

	Service    float64 `json:"service_ratio"`
	Throughput float64 `json:"throughput_ratio"` // of the second device, alone and at the fixed rate
	SecondP99  float64 `json:"second_p99_ratio"`
	CPU        float64 `json:"cpu_ratio"` // for a request of the second device
	GCStop     float64 `json:"gc_stop_ms"`
	Mismatches int     `json:"mismatches"`

	LeastRequests int     `json:"least_requests"` // of the GPU in a cell
	OtherCores    float64 `json:"other_cores"`
}

// judgement is one criterion applied to one cell.
type judgement struct {
	Criterion string  `json:"criterion"`
	Pressure  string  `json:"pressure"`
	Cell      string  `json:"cell"`
	Value     float64 `json:"value"`
	Limit     float64 `json:"limit"`
	Met       bool    `json:"met"`
}

// verdict is met if all judgements are, inconclusive if the run cannot tell.
type verdict struct {
	Verdict  string      `json:"verdict"`
	Doubts   []judgement `json:"doubts"` // that the effect is there and the run is valid
	Findings []judgement `json:"findings"`
}

func loadCriteria() (c criteria, err error) {
	if err = json.Unmarshal(criteriaText, &c); err != nil {
		err = fmt.Errorf("criteria.json: %w", err)
	}
	return c, err
}

// judge applies the criteria. A cell that was not measured makes the verdict inconclusive.
func (k *criteria) judge(all []*cell) verdict {
	var v verdict
	atMost := func(list *[]judgement, name string, c *cell, value, limit float64) {
		*list = append(*list, judgement{name, c.Pressure, c.Cell, value, limit, value <= limit})
	}
	atLeast := func(list *[]judgement, name string, c *cell, value, limit float64) {
		*list = append(*list, judgement{name, c.Pressure, c.Cell, value, limit, value >= limit})
	}
	for _, pressure := range pressures {
		need := map[string]*cell{}
		for _, id := range [][2]string{{soloSecond, k.Candidate}, {soloSecond, k.Against}, {matrix, k.Candidate}, {matrix, k.Against},
			{matrix, k.Control}, {fixed, k.Candidate}, {fixed, k.Against}} {
			c := find(all, pressure, id[0], id[1])
			if c == nil {
				v.Doubts = append(v.Doubts, judgement{Criterion: "measured", Pressure: pressure, Cell: id[0] + " " + id[1]})
			}
			need[id[0]+id[1]] = c
		}
		if len(need) == 0 || anyNil(need) {
			continue
		}
		mine, theirs, control := need[matrix+k.Candidate], need[matrix+k.Against], need[matrix+k.Control]
		switch pressure {
		case "p1":
			atLeast(&v.Doubts, "the effect is there (P50)", theirs, ratio(theirs.Return.P50, control.Return.P50), k.EffectP1)
		case "gc":
			atLeast(&v.Doubts, "the effect is there (P99)", theirs, ratio(theirs.Return.P99, control.Return.P99), k.EffectGC)
		}
		for _, c := range []*cell{mine, need[fixed+k.Candidate], need[fixed+k.Against], need[soloSecond+k.Candidate], need[soloSecond+k.Against]} {
			atMost(&v.Doubts, "other processes' cores", c, c.Others, k.OtherCores)
			atMost(&v.Doubts, "stamps out of order", c, float64(c.Unordered), 0)
			if c.Cell != soloSecond {
				atLeast(&v.Doubts, "requests", c, float64(c.Return.N), float64(k.LeastRequests))
			}
		}
		for _, c := range []*cell{mine, need[fixed+k.Candidate]} {
			atMost(&v.Findings, "return leg, mean, ms", c, c.Return.Mean, k.ReturnMean)
			atMost(&v.Findings, "return leg, P50, ms", c, c.Return.P50, k.ReturnP50)
			atMost(&v.Findings, "return leg, P95, ms", c, c.Return.P95, k.ReturnP95)
			atMost(&v.Findings, "return leg, P99, ms", c, c.Return.P99, k.ReturnP99[pressure])
			atMost(&v.Findings, "worst stop for the collector, ms", c, c.GCStop, k.GCStop)
		}
		for _, name := range []string{soloSecond, fixed} {
			c, other := need[name+k.Candidate], need[name+k.Against]
			atLeast(&v.Findings, "second device's throughput, ratio", c, ratio(c.SecondRate, other.SecondRate), k.Throughput)
			atMost(&v.Findings, "second device's P99, ratio", c, ratio(c.Second.P99, other.Second.P99), k.SecondP99)
			atMost(&v.Findings, "CPU for a request, ratio", c, ratio(c.CPU, other.CPU), k.CPU)
		}
		c, other := need[fixed+k.Candidate], need[fixed+k.Against]
		atMost(&v.Findings, "GPU service, ratio", c, ratio(c.Service.Mean, other.Service.Mean), k.Service)
	}
	for _, c := range all {
		if c.Mismatches > 0 {
			atMost(&v.Findings, "wrong answers ("+c.Config+")", c, float64(c.Mismatches), float64(k.Mismatches))
		}
	}
	switch {
	case !allMet(v.Doubts):
		v.Verdict = "inconclusive"
	case allMet(v.Findings):
		v.Verdict = "met"
	default:
		v.Verdict = "not met"
	}
	return v
}

func anyNil(cells map[string]*cell) bool {
	for _, c := range cells {
		if c == nil {
			return true
		}
	}
	return false
}

func allMet(list []judgement) bool {
	for _, j := range list {
		if !j.Met {
			return false
		}
	}
	return true
}

// ratio of two quantities; of nothing to something it is 0.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

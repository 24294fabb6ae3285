package main

import (
	"fmt"
	"math"
)

// crossing is where the device begins to win.
type crossing struct {
	rows  int // 0: nowhere
	about bool
}

// crossing is the number of rows from which the device is faster at every larger size, between two sizes by the
// straight lines of a plot with two logarithmic axes, to two digits.
func (s *series) crossing() crossing {
	first := len(s.points)
	for first > 0 && s.points[first-1].gpu > 0 && s.points[first-1].gpu < s.points[first-1].cpu {
		first--
	}
	switch first {
	case len(s.points):
		return crossing{}
	case 0:
		return crossing{rows: s.points[0].rows}
	}
	a, b := s.points[first-1], s.points[first]
	if a.gpu == 0 {
		return crossing{rows: b.rows}
	}
	before := math.Log(float64(a.gpu) / float64(a.cpu)) // the device's disadvantage, 0 or more
	after := math.Log(float64(b.gpu) / float64(b.cpu))  // below 0
	at := math.Log(float64(a.rows)) + before/(before-after)*math.Log(float64(b.rows)/float64(a.rows))
	step := math.Pow(10, math.Floor(at/math.Ln10)-1)
	return crossing{rows: int(math.Round(math.Exp(at)/step) * step), about: true}
}

// verdict says in words where the device begins to win.
func (s *series) verdict(device string) string {
	most := grouped(int64(s.points[len(s.points)-1].rows))
	c := s.crossing()
	switch {
	case s.noGPU != "":
		return "no times of " + device + ": " + s.noGPU
	case device == cpuName:
		return "none: only the CPU was measured"
	case c.rows == 0:
		return fmt.Sprintf("never up to %s rows", most)
	case c.about:
		return fmt.Sprintf("about %s rows", grouped(int64(c.rows)))
	}
	return fmt.Sprintf("%s rows or fewer, the least that was measured", grouped(int64(c.rows)))
}

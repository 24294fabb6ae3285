//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"fmt"
	"image/color"
	"io"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

var configColors = map[string]color.Color{
	"A": color.RGBA{R: 0xc6, G: 0x28, B: 0x28, A: 255},
	"B": color.RGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: 255},
	"C": color.RGBA{R: 0xe6, G: 0x8a, B: 0x00, A: 255},
	"D": color.RGBA{R: 0x2e, G: 0x7d, B: 0x32, A: 255},
}

const (
	plotWidth, plotHeight = 12 * vg.Centimeter, 8 * vg.Centimeter
	curvePoints           = 200
	leastLeg              = 0.001 // ms: the smallest that the logarithmic axis shows
)

// plot draws the distribution of the return leg in the matrix, a panel for each pressure and a curve for each
// configuration.
func (r *results) plot(out io.Writer) error {
	canvas := vgsvg.New(plotWidth*vg.Length(len(pressures)), plotHeight)
	tiles := draw.Tiles{Rows: 1, Cols: len(pressures)}
	for i, pressure := range pressures {
		p := plot.New()
		p.Title.Text = fmt.Sprintf("Return leg, %s", pressure)
		p.X.Label.Text, p.Y.Label.Text = "ms", "share of requests"
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
		p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = leastLeg, 100, 0, 1
		p.Legend.Top, p.Legend.Left = true, true
		for _, where := range placements {
			c := find(r.Cells, pressure, matrix, where.name)
			if c == nil || len(c.legs) == 0 {
				continue
			}
			line, err := plotter.NewLine(distribution(c.legs))
			if err != nil {
				return err
			}
			line.Color, line.Width = configColors[where.name], vg.Points(1.5)
			p.Add(line)
			p.Legend.Add(where.name, line)
		}
		p.Draw(tiles.At(draw.New(canvas), i, 0))
	}
	_, err := canvas.WriteTo(out)
	return err
}

// distribution is the share of values that are at most x.
func distribution(values []float64) plotter.XYs {
	s := slices.Sorted(slices.Values(values))
	points := make(plotter.XYs, curvePoints+1)
	for i := range points {
		at := min(i*len(s)/curvePoints, len(s)-1)
		points[i].X, points[i].Y = max(s[at], leastLeg), float64(at+1)/float64(len(s))
	}
	return points
}

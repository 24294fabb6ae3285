package latency

import (
	"image/color"
	"io"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgsvg"
)

var lineColors = []color.RGBA{
	{R: 0xc8, G: 0x4b, B: 0x11, A: 255}, {R: 0x7b, G: 0x1f, B: 0xa2, A: 255}, {R: 0x1f, G: 0x5f, B: 0xa8, A: 255}, {R: 0x2e, G: 0x7d, B: 0x32, A: 255},
}

// named is a table by its name, nil if there is none.
func (r *Report) named(prefix string) *Table {
	for _, t := range r.Tables {
		if strings.HasPrefix(t.Name, prefix) {
			return t
		}
	}
	return nil
}

// PlotOperations draws the median of a sum against the rows, a line for each way to run it.
func (r *Report) PlotOperations(w io.Writer) error {
	t := r.named("Whole calls")
	return r.lines(w, t, "Time of a sum against rows, "+r.Device, "rows", func(label string) (float64, bool) {
		rows, operation, _ := strings.Cut(label, " ")
		n, err := strconv.Atoi(rows)
		return float64(n), err == nil && operation == "sum"
	})
}

// PlotAmortisation draws the time of an operation against how many share a wait, or a submission.
func (r *Report) PlotAmortisation(w io.Writer) error {
	return r.lines(w, r.named("Amortisation"), "Time of an operation among others, "+r.Device, "operations", func(label string) (float64, bool) {
		n, err := strconv.Atoi(label)
		return float64(n), err == nil
	})
}

// lines draws the columns of a table over the numbers that x finds in the labels.
func (r *Report) lines(w io.Writer, t *Table, title, xName string, x func(label string) (float64, bool)) error {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, xName, "microseconds"
	if r.Warning != "" {
		p.Title.Text += "\n" + r.Warning
	}
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = plot.LogTicks{Prec: -1}, plot.LogTicks{Prec: -1}
	p.Legend.Top, p.Legend.Left = true, true
	p.Add(plotter.NewGrid())
	for c := range t.Head[1:] {
		var xys plotter.XYs
		for _, row := range t.Rows {
			if at, ok := x(row.Label); ok && c < len(row.Values) && !math.IsNaN(float64(row.Values[c])) && row.Values[c] > 0 {
				xys = append(xys, plotter.XY{X: at, Y: float64(row.Values[c])})
			}
		}
		if len(xys) == 0 {
			continue
		}
		line, points, err := plotter.NewLinePoints(xys)
		if err != nil {
			return err
		}
		line.Color, line.Width, points.Color = lineColors[c%len(lineColors)], 1.5, lineColors[c%len(lineColors)]
		p.Add(line, points)
		p.Legend.Add(t.Head[c+1], line, points)
	}
	svg, err := p.WriterTo(16*vg.Centimeter, 11*vg.Centimeter, "svg")
	if err != nil {
		return err
	}
	_, err = svg.WriteTo(w)
	return err
}

var _ = vgsvg.New // the format that WriterTo knows by name

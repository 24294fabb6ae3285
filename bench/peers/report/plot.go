package report

import (
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

var colors = map[string]color.Color{
	Ours: color.RGBA{0x1f, 0x5f, 0xa8, 255}, OursOnGo: color.RGBA{0x7f, 0xb2, 0xe5, 255},
	"arrow-go": color.RGBA{0x2e, 0x7d, 0x32, 255}, "DuckDB": color.RGBA{0xe0, 0xa8, 0x00, 255}, "Polars": color.RGBA{0xc8, 0x4b, 0x11, 255},
	Floor1: color.Gray{0xb0},
}

// Plot draws the rows of one size: how many times the floor with two threads each engine takes, on a logarithmic scale.
func (r *Report) Plot(path string, rows int) (err error) {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s rows: time as a multiple of the two-thread memory floor", grouped(rows))
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: 3}
	p.X.Label.Text = "times the floor (1 is the best that the memory allows)"
	p.Legend.Top = true
	var names []string
	points := map[string]plotter.XYs{}
	for i := len(r.Rows) - 1; i >= 0; i-- {
		row := &r.Rows[i]
		floor, ok := row.Times[Floor2]
		if row.Rows != rows || !ok {
			continue
		}
		y := float64(len(names))
		for _, c := range Columns {
			if t, ok := row.Times[c]; ok && c != Floor2 {
				points[c] = append(points[c], plotter.XY{X: float64(t.Median) / float64(floor.Median), Y: y})
			}
		}
		name := row.Op + " " + row.Type
		if row.Nulls {
			name += ", nulls"
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		return nil
	}
	p.Add(plotter.NewGrid())
	for _, c := range Columns {
		if points[c] == nil {
			continue
		}
		s, err := plotter.NewScatter(points[c])
		if err != nil {
			return err
		}
		s.GlyphStyle = draw.GlyphStyle{Color: colors[c], Radius: vg.Points(3.5), Shape: draw.CircleGlyph{}}
		p.Add(s)
		p.Legend.Add(c, s)
	}
	p.NominalY(names...)
	c := vgsvg.New(24*vg.Centimeter, vg.Length(4+0.55*float64(len(names)))*vg.Centimeter)
	p.Draw(draw.New(c))
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if _, err := c.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

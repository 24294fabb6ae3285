package main

import (
	"bytes"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

var (
	cpuColor   = color.RGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: 255}
	gpuColor   = color.RGBA{R: 0xc8, G: 0x4b, B: 0x11, A: 255}
	crossColor = color.RGBA{R: 0x2e, G: 0x7d, B: 0x32, A: 255}
	gridColor  = color.RGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 255}
)

const (
	panelWidth, panelHeight = 13 * vg.Centimeter, 8.5 * vg.Centimeter
	headHeight              = 1.6 * vg.Centimeter
	panelsAcross            = 3
)

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

var plotFont = font.Font{Typeface: "Liberation", Variant: "Sans"}

// draw writes the plot, a panel for each function. The file is replaced only by a whole one.
func (q *request) draw(all []series) (err error) {
	panels, err := q.panels(all)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(q.out), filepath.Base(q.out)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if err := f.Chmod(0o644); err != nil && runtime.GOOS != "windows" {
		return err
	}
	if err := q.drawTo(f, panels); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), q.out)
}

func (q *request) panels(all []series) ([]*plot.Plot, error) {
	low, high := math.Inf(1), 0.0
	for _, s := range all {
		for _, p := range s.points {
			for _, d := range []time.Duration{p.cpu, p.gpu} {
				if d > 0 {
					low, high = min(low, microseconds(d)), max(high, microseconds(d))
				}
			}
		}
	}
	// Whole decades, the same in every panel.
	low, high = math.Pow(10, math.Floor(math.Log10(low))), math.Pow(10, math.Ceil(math.Log10(high)))
	if low == high {
		high *= 10
	}
	var panels []*plot.Plot
	for i := range all {
		p, err := q.panel(&all[i], low, high)
		if err != nil {
			return nil, err
		}
		panels = append(panels, p)
	}
	return panels, nil
}

// panel plots one function.
func (q *request) panel(s *series, low, high float64) (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text = s.work.function + ": " + q.shortVerdict(s)
	p.X.Label.Text, p.Y.Label.Text = "rows [count]", "time of a call [µs]"
	p.X.Min, p.X.Max = rowsMin, max(float64(q.rowsMax), rowsMin*2)
	p.Y.Min, p.Y.Max = low, high
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = decades{}, decades{}
	p.Title.TextStyle.Font = font.From(plotFont, 12)
	p.Title.Padding = 4
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Label.TextStyle.Font = font.From(plotFont, 11)
		a.Tick.Label.Font = font.From(plotFont, 10)
	}
	p.Legend.TextStyle.Font = font.From(plotFont, 10)
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.XOffs, p.Legend.YOffs = 6, 4
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = gridColor, gridColor
	p.Add(grid)
	var cpu, device plotter.XYs
	for _, pt := range s.points {
		cpu = append(cpu, plotter.XY{X: float64(pt.rows), Y: microseconds(pt.cpu)})
		if pt.gpu > 0 {
			device = append(device, plotter.XY{X: float64(pt.rows), Y: microseconds(pt.gpu)})
		}
	}
	if err := addLine(p, cpuName, cpu, cpuColor, draw.CircleGlyph{}, nil); err != nil {
		return nil, err
	}
	if len(device) > 0 {
		if err := addLine(p, q.driver, device, gpuColor, draw.SquareGlyph{}, []vg.Length{6, 3}); err != nil {
			return nil, err
		}
	}
	if c := s.crossing(); c.rows > 0 {
		return p, addCrossing(p, c, low, high)
	}
	return p, nil
}

func (q *request) shortVerdict(s *series) string {
	c := s.crossing()
	switch {
	case s.noGPU != "":
		return q.driver + " failed"
	case q.onlyCPU():
		return "CPU only"
	case c.rows == 0:
		return "CPU faster up to " + grouped(int64(q.rowsMax))
	case c.about:
		return "crossover about " + grouped(int64(c.rows)) + " rows"
	}
	return q.driver + " faster from " + grouped(int64(c.rows)) + " rows"
}

func addLine(p *plot.Plot, name string, xys plotter.XYs, c color.Color, glyph draw.GlyphDrawer, dashes []vg.Length) error {
	line, points, err := plotter.NewLinePoints(xys)
	if err != nil {
		return err
	}
	line.Color, line.Width, line.Dashes = c, 1.5, dashes
	points.GlyphStyle = draw.GlyphStyle{Color: c, Radius: 2.5, Shape: glyph}
	p.Add(line, points)
	p.Legend.Add(name, line, points)
	return nil
}

// addCrossing marks the crossover by an upright line.
func addCrossing(p *plot.Plot, c crossing, low, high float64) error {
	x := float64(c.rows)
	line, err := plotter.NewLine(plotter.XYs{{X: x, Y: low}, {X: x, Y: high}})
	if err != nil {
		return err
	}
	line.Color, line.Width = crossColor, 1.5
	label, err := plotter.NewLabels(plotter.XYLabels{
		XYs:    plotter.XYs{{X: x, Y: low}},
		Labels: []string{grouped(int64(c.rows)) + " rows"},
	})
	if err != nil {
		return err
	}
	style := &label.TextStyle[0]
	style.Font, style.Color = font.From(plotFont, 10), crossColor
	style.XAlign, label.Offset = draw.XLeft, vg.Point{X: 4, Y: 6}
	if math.Log(x/p.X.Min) > math.Log(p.X.Max/p.X.Min)/2 {
		style.XAlign, label.Offset.X = draw.XRight, -4
	}
	p.Add(line, label)
	p.Legend.Add("crossover", line)
	return nil
}

// drawTo lays the panels out under a head.
func (q *request) drawTo(w io.Writer, panels []*plot.Plot) error {
	across := min(panelsAcross, len(panels))
	down := (len(panels) + across - 1) / across
	width, height := vg.Length(across)*panelWidth, vg.Length(down)*panelHeight+headHeight
	svg := vgsvg.NewWith(vgsvg.UseWH(width, height))
	c := draw.New(svg)
	c.SetColor(color.White)
	c.Fill(c.Rectangle.Path())
	q.drawHead(draw.Crop(c, 0, 0, height-headHeight, 0))
	grid := make([][]*plot.Plot, down)
	for i := range grid {
		grid[i] = make([]*plot.Plot, across)
		copy(grid[i], panels[i*across:min(len(panels), (i+1)*across)])
	}
	tiles := draw.Tiles{
		Cols: across, Rows: down, PadX: 14, PadY: 14,
		PadTop: headHeight, PadBottom: 8, PadLeft: 8, PadRight: 16,
	}
	canvases := plot.Align(grid, tiles, c)
	for i, row := range grid {
		for j, p := range row {
			if p != nil {
				p.Draw(canvases[i][j])
			}
		}
	}
	var out bytes.Buffer
	if _, err := svg.WriteTo(&out); err != nil {
		return err
	}
	// Arial has the measures of Liberation Sans, so the layout holds where that is not installed.
	_, err := w.Write(bytes.ReplaceAll(out.Bytes(),
		[]byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return err
}

func (q *request) drawHead(c draw.Canvas) {
	title := fmt.Sprintf("Time of a call against rows, %s, CPU and %s", q.typ.Name(), q.driver)
	below := fmt.Sprintf("%s/%s, GOMAXPROCS %d", runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	style := text.Style{Color: color.Black, Font: font.From(plotFont, 14), XAlign: draw.XCenter, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
	small := style
	small.Font = font.From(plotFont, 11)
	switch {
	case q.onlyCPU():
		title = fmt.Sprintf("Time of a call against rows, %s, CPU only", q.typ.Name())
	case q.emulated():
		below, small.Color = emulatorWarning, color.RGBA{R: 0xc0, A: 255}
		small.Font = font.From(plotFont, 13)
	default:
		below += "; " + q.model
	}
	if q.foreign {
		below += "; columns in foreign memory"
	}
	x := c.Center().X
	c.FillText(style, vg.Point{X: x, Y: c.Max.Y - 6}, title)
	c.FillText(small, vg.Point{X: x, Y: c.Max.Y - 25}, below)
}

// decades labels the powers of ten of a logarithmic axis, twice and five times them too on a short one, and marks 2 to 9
// times them.
type decades struct{}

func (decades) Ticks(low, high float64) (ticks []plot.Tick) {
	short := high < 100*low
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, e)
			if v < low*0.999 || v > high*1.001 {
				continue
			}
			t := plot.Tick{Value: v}
			if m == 1 || short && (m == 2 || m == 5) {
				t.Label = strconv.FormatFloat(v, 'g', 3, 64)
				if v >= 1 {
					t.Label = grouped(int64(math.Round(v)))
				}
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

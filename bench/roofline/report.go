package roofline

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Report is one run. Times are medians in milliseconds, 0 where there is none.
type Report struct {
	Device   string    `json:"device"`
	Driver   string    `json:"driver"`
	Machine  string    `json:"machine"`
	Warning  string    `json:"warning,omitempty"`
	Rows     int       `json:"rows"`
	Source   string    `json:"source_of_targets"`
	CopyTBs  float64   `json:"copy_tb_s"` // what the device copies within itself, bytes read and written
	Copies   []Copy    `json:"copies"`
	Resident []Row     `json:"resident"`
	Host     []HostRow `json:"host"`
}

// Copy is a column that moves.
type Copy struct {
	Name     string  `json:"name"`
	Bytes    int64   `json:"bytes"`
	WallMS   float64 `json:"wall_ms"`
	DeviceMS float64 `json:"device_ms"`
	TBs      float64 `json:"tb_s"`
}

// Row is an operation over columns on the device, whose result stays there. Odd is the same over slices at odd offsets.
type Row struct {
	Operation   string  `json:"operation"`
	Bytes       int64   `json:"bytes"` // read and written at least
	DeviceMS    float64 `json:"device_ms"`
	WallMS      float64 `json:"wall_ms"`
	TBs         float64 `json:"tb_s"`
	OfCopy      float64 `json:"of_copy"` // TBs, as a share of what a copy reaches
	TargetMS    float64 `json:"target_ms,omitempty"`
	PeerMS      float64 `json:"peer_ms,omitempty"`
	PeerLibrary string  `json:"peer,omitempty"`
	OddDeviceMS float64 `json:"odd_device_ms"`
	OddWallMS   float64 `json:"odd_wall_ms"`
}

// HostRow is an operation over columns on the host whose result ends there too.
type HostRow struct {
	Operation string  `json:"operation"`
	OwnMS     float64 `json:"gpu_visible_ms"` // by the device, from and to GPU-visible memory
	ForeignMS float64 `json:"foreign_ms"`     // by the device, from memory of others
	CPUMS     float64 `json:"cpu_ms"`
}

// best is the device's time where it tells, else the clock's.
func best(device, wall float64) float64 {
	if device > 0 {
		return device
	}
	return wall
}

func tbs(bytes int64, ms float64) float64 {
	if ms == 0 {
		return 0
	}
	return float64(bytes) / ms / 1e9
}

// work computes what follows from the times.
func (r *Row) work(copyTBs float64) {
	r.TBs = tbs(r.Bytes, best(r.DeviceMS, r.WallMS))
	if copyTBs > 0 {
		r.OfCopy = r.TBs / copyTBs
	}
}

// against is a time as a multiple of another, "-" where there is none.
func against(ms, other float64) string {
	if other == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", ms/other)
}

// cell is a number with n decimals, "-" for 0.
func cell(v float64, n int) string {
	if v == 0 {
		return "-"
	}
	return strconv.FormatFloat(v, 'f', n, 64)
}

// JSON writes the report for programs.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// Markdown writes the report for people.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Device columns on %s\n\nDriver %s; %s. Columns of %d rows. Times are medians in milliseconds: on the device's clock\n"+
		"where it tells, and on the host's from the recording of a call to its end.\n", r.Device, r.Driver, r.Machine, r.Rows)
	if r.Warning != "" {
		fmt.Fprintf(&b, "\n%s\n", r.Warning)
	}
	b.WriteString("\n## Copies\n\n")
	rows := [][]string{{"copy", "bytes", "device ms", "wall ms", "TB/s"}}
	for _, c := range r.Copies {
		rows = append(rows, []string{c.Name, fmt.Sprint(c.Bytes), cell(c.DeviceMS, 4), cell(c.WallMS, 4), fmt.Sprintf("%.3g", c.TBs)})
	}
	table(&b, rows)
	b.WriteString("\n## Columns on the device, results too\n\nBytes are those that must be read and written. \"Of a copy\" compares TB/s with the copy within the device above.\n" +
		"Targets and peers: " + r.Source + "; times over theirs, so less is better. Odd: the same over slices at odd offsets.\n\n")
	rows = [][]string{{"operation", "bytes", "device ms", "wall ms", "TB/s", "of a copy", "target ms", "/ target", "peer ms", "/ peer", "odd ms", "odd / even"}}
	for _, o := range r.Resident {
		ms, odd := best(o.DeviceMS, o.WallMS), best(o.OddDeviceMS, o.OddWallMS)
		peer := cell(o.PeerMS, 3)
		if o.PeerMS > 0 {
			peer += " (" + o.PeerLibrary + ")"
		}
		rows = append(rows, []string{
			o.Operation, fmt.Sprint(o.Bytes), cell(o.DeviceMS, 4), cell(o.WallMS, 4), fmt.Sprintf("%.3g", o.TBs), fmt.Sprintf("%.0f%%", 100*o.OfCopy),
			cell(o.TargetMS, 3), against(ms, o.TargetMS), peer, against(ms, o.PeerMS), cell(odd, 4), against(odd, ms),
		})
	}
	table(&b, rows)
	fmt.Fprintf(&b, "\nOdd offsets may cost %.2f times as much.\n\n## Columns on the host, results too\n\n", oddLimit)
	rows = [][]string{{"operation", "device, GPU-visible memory", "device, foreign memory", "CPU", "CPU / device", "CPU / device, foreign"}}
	for _, o := range r.Host {
		rows = append(rows, []string{o.Operation, cell(o.OwnMS, 3), cell(o.ForeignMS, 3), cell(o.CPUMS, 3), against(o.CPUMS, o.OwnMS), against(o.CPUMS, o.ForeignMS)})
	}
	table(&b, rows)
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes rows of cells, the first as the head.
func table(b *strings.Builder, rows [][]string) {
	for i, cells := range rows {
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat("---|", len(cells)))
		}
	}
}

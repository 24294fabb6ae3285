package resident

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// String is the report as a table, and what it means.
func (r Report) String() string {
	var b strings.Builder
	spacing := "128 bytes apart"
	if r.Options.SameLine {
		spacing = "on one line"
	}
	fmt.Fprintf(&b, "%s, %s: window %v, a doorbell every %v, doorbell and heartbeat %s", r.Device.Driver, r.Device.Name,
		r.Options.Window, r.Options.Interval, spacing)
	if r.Options.Evict > 0 {
		fmt.Fprintf(&b, ", %d KiB read between two looks", r.Options.Evict>>10)
	}
	b.WriteString("\n\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "form\tdoorbells seen\tfirst seen after\techo (median)\theartbeat seen after\tdoorbell kept")
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Err != nil {
			fmt.Fprintf(t, "%s\t%s\n", row.Form, reason(row.Err))
			continue
		}
		kept := "yes"
		if row.Clobbered {
			kept = "no"
		}
		fmt.Fprintf(t, "%s\t%d of %d\t%s\t%s\t%s\t%s\n", row.Form, row.Seen, row.Sent, span(row.FirstSeen), span(row.Echo), span(row.Heartbeat), kept)
	}
	t.Flush()
	if r.Device.Driver == "emulator" {
		b.WriteString("\nThe emulator is a simulation on the CPU: its kernels run in threads beside the program's, over the same coherent memory.\nWhat it shows says nothing about a GPU.\n")
	}
	return b.String()
}

// span is a duration with three digits.
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "never"
	case d < 10*time.Microsecond:
		return fmt.Sprintf("%.2f µs", float64(d)/1e3)
	case d < time.Millisecond:
		return fmt.Sprintf("%.0f µs", float64(d)/1e3)
	}
	return fmt.Sprintf("%.1f ms", float64(d)/1e6)
}

// reason is an error in a few words.
func reason(err error) string {
	var c *gpu.CompileError
	if errors.As(err, &c) {
		log, _, _ := strings.Cut(strings.TrimSpace(c.Log), "\n")
		return "the compiler does not take it: " + log
	}
	return err.Error()
}

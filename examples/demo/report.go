package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

// report prints a line for each step. Reasons are long and few, so they follow the table and the lines number them.
func report(out io.Writer, results []result) {
	var reasons []string
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "step\tresult\tran on\twhy")
	for _, r := range results {
		n := slices.Index(reasons, r.where.Reason)
		if n < 0 {
			n = len(reasons)
			reasons = append(reasons, r.where.Reason)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t[%d]\n", r.label, show(r.value), r.where.Device, n+1)
	}
	w.Flush()
	fmt.Fprintln(out)
	for i, why := range reasons {
		fmt.Fprintf(out, "[%d] %s\n", i+1, why)
	}
}

// show is a result in one line: a scalar by its value, a column by its length.
func show(d compute.Datum) string {
	s, ok := d.(*compute.ScalarDatum)
	if !ok {
		return fmt.Sprintf("%d rows of %s", d.Len(), d.(compute.ArrayLikeDatum).Type())
	}
	if fields, ok := s.Value.(*scalar.Struct); ok && len(fields.Value) == 2 {
		return fmt.Sprintf("%s to %s", fields.Value[0], fields.Value[1])
	}
	return s.Value.String()
}

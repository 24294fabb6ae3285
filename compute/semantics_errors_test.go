package compute_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
)

// A checked function that has no value somewhere says why, in arrow-go's words, whether its arguments are cast first or
// not.
func TestErrorsSayWhy(t *testing.T) {
	const (
		overflow  = "overflow"
		zero      = "divide by zero"
		logOfZero = "logarithm of zero"
		logBelow  = "logarithm of negative number"
		domain    = "domain error"
	)
	integersAlone := map[string]bool{"add": true, "divide": true, "shift_left": true, "power": true}
	for _, c := range []struct {
		name, want string
		args       []string
	}{
		{"add", overflow, []string{"[127]", "[1]"}},
		{"divide", zero, []string{"[1]", "[0]"}},
		{"sqrt", "square root of negative number", []string{"[-1]"}},
		{"shift_left", "shift amount must be >= 0 and less than precision of type", []string{"[1]", "[64]"}},
		{"power", "integers to negative integer powers are not allowed", []string{"[2]", "[-1]"}},
		{"acos", domain, []string{"[2]"}},
		{"atanh", domain, []string{"[1]"}},
		{"ln", logOfZero, []string{"[0]"}},
		{"ln", logBelow, []string{"[-1]"}},
		{"log10", logBelow, []string{"[-1]"}},
		{"log2", logBelow, []string{"[-1]"}},
		{"log1p", logOfZero, []string{"[-1]"}},
		{"log1p", logBelow, []string{"[-2]"}},
		{"logb", logOfZero, []string{"[0]", "[2]"}},
		{"logb", logBelow, []string{"[2]", "[-2]"}},
	} {
		var last arrow.DataType = arrow.PrimitiveTypes.Int8
		for _, first := range []arrow.DataType{last, arrow.PrimitiveTypes.Float32} {
			if first != last && integersAlone[c.name] {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s/%s", c.name, c.want, first), func(t *testing.T) {
				types := []arrow.DataType{first, last} // two types are cast to one
				args := make([]arrow.Array, len(c.args))
				for i, text := range c.args {
					args[i] = fromJSON(t, types[i], text)
				}
				_, err := compute.CallFunction(onCPU(), c.name, nil, borrowed(args...)...)
				require.ErrorIs(t, err, arrow.ErrInvalid)
				require.ErrorContains(t, err, c.want)
			})
		}
	}
}

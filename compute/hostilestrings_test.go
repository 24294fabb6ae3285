package compute_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
)

// badStrings are two rows each of columns whose strings lie outside of their data.
func badStrings() map[string]compute.Datum {
	data := arrowmem.NewBufferBytes([]byte("abcdefghijklmnopqrstuvwxyz"))
	small := func(o ...int32) *arrowmem.Buffer { return arrowmem.NewBufferBytes(arrow.Int32Traits.CastToBytes(o)) }
	large := func(o ...int64) *arrowmem.Buffer { return arrowmem.NewBufferBytes(arrow.Int64Traits.CastToBytes(o)) }
	out := map[string]compute.Datum{}
	for name, d := range map[string]*array.Data{
		"past the end":      array.NewData(arrow.BinaryTypes.String, 2, []*arrowmem.Buffer{nil, small(0, 20, 40), data}, nil, 0, 0),
		"before the start":  array.NewData(arrow.BinaryTypes.Binary, 2, []*arrowmem.Buffer{nil, small(-20, 0, 20), data}, nil, 0, 0),
		"64 bits":           array.NewData(arrow.BinaryTypes.LargeString, 2, []*arrowmem.Buffer{nil, large(1<<62, 1<<62+20, 1<<62+40), data}, nil, 0, 0),
		"offsets missing":   array.NewData(arrow.BinaryTypes.String, 2, []*arrowmem.Buffer{nil, small(0, 20), data}, nil, 0, 0),
		"no offsets":        array.NewData(arrow.BinaryTypes.String, 2, []*arrowmem.Buffer{nil, nil, data}, nil, 0, 0),
		"no data":           array.NewData(arrow.BinaryTypes.String, 2, []*arrowmem.Buffer{nil, small(0, 20, 40)}, nil, 0, 0),
		"fixed width short": array.NewData(&arrow.FixedSizeBinaryType{ByteWidth: 20}, 2, []*arrowmem.Buffer{nil, data}, nil, 0, 0),
		"views short":       array.NewData(arrow.BinaryTypes.StringView, 2, []*arrowmem.Buffer{nil, data}, nil, 0, 0),
	} {
		out[name] = &compute.ArrayDatum{Value: d}
	}
	return out
}

// Strings that lie outside of their column's data are an error, never a panic or an answer.
func TestStringsOutside(t *testing.T) {
	lit := compute.NewDatum("abcdefghijklmnopqrst")
	set := &compute.SetOptions{ValueSet: someWords}
	for name, d := range badStrings() {
		for _, f := range []string{"equal", "not_equal", "less", "greater_equal"} {
			for _, args := range [][]compute.Datum{{d, lit}, {lit, d}, {d, d}} {
				_, err := compute.CallFunction(onCPU(), f, nil, args...)
				require.ErrorIs(t, err, arrow.ErrInvalid, "%s %s", f, name)
			}
		}
		_, err := compute.CallFunction(onCPU(), "is_in_meta_binary", nil, d, d)
		require.ErrorIs(t, err, arrow.ErrInvalid, name)
		if d.(compute.ArrayLikeDatum).Type().ID() == arrow.STRING {
			_, err = compute.CallFunction(onCPU(), "is_in", set, d)
			require.ErrorIs(t, err, arrow.ErrInvalid, name)
		}
	}
}

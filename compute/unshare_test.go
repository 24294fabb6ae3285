package compute_test

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/compute"
)

// temporals makes a type anew, so that a change of it is seen here only.
var temporals = map[string]func() arrow.DataType{
	"timestamp[s]":  func() arrow.DataType { return &arrow.TimestampType{Unit: arrow.Second} },
	"timestamp[ns]": func() arrow.DataType { return &arrow.TimestampType{Unit: arrow.Nanosecond} },
	"duration[s]":   func() arrow.DataType { return &arrow.DurationType{Unit: arrow.Second} },
	"duration[ns]":  func() arrow.DataType { return &arrow.DurationType{Unit: arrow.Nanosecond} },
	"date32":        func() arrow.DataType { return arrow.FixedWidthTypes.Date32 },
	"int64":         func() arrow.DataType { return arrow.PrimitiveTypes.Int64 },
}

func temporalDatums(t *testing.T, dt arrow.DataType) map[string]compute.Datum {
	b := array.NewBuilder(arrowmem.DefaultAllocator, dt)
	defer b.Release()
	for _, v := range []string{"1970-01-02", "1970-01-03"} {
		if dt.ID() == arrow.DURATION || dt.ID() == arrow.INT64 {
			v = v[9:]
			if dt.ID() == arrow.DURATION {
				v += "s"
			}
		}
		require.NoError(t, b.AppendValueFromString(v))
	}
	arr := b.NewArray()
	defer arr.Release()
	one, err := scalar.GetScalar(arr, 0)
	require.NoError(t, err)
	index := array.NewInt8Builder(arrowmem.DefaultAllocator)
	defer index.Release()
	index.AppendValues([]int8{1, 0}, nil)
	indices := index.NewArray()
	defer indices.Release()
	dict := array.NewDictionaryArray(&arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int8, ValueType: dt}, indices, arr)
	defer dict.Release()
	return map[string]compute.Datum{
		"array":      compute.NewDatum(arr),
		"chunked":    &compute.ChunkedDatum{Value: arrow.NewChunked(dt, []arrow.Array{arr, arr})},
		"scalar":     compute.NewDatum(one),
		"null":       compute.NewDatum(scalar.MakeNullScalar(dt)),
		"dictionary": compute.NewDatum(dict),
	}
}

// No call changes a type of its arguments, whatever it answers.
func TestCallsKeepTypes(t *testing.T) {
	registry := compute.GetFunctionRegistry()
	for _, name := range registry.GetFunctionNames() {
		f, ok := registry.GetFunction(name)
		require.True(t, ok)
		if f.Arity().NArgs != 2 || f.Kind() == compute.FuncMeta {
			continue
		}
		for left, newLeft := range temporals {
			for right, newRight := range temporals {
				for form := range temporalDatums(t, newLeft()) {
					a, b := newLeft(), newRight()
					x, y := temporalDatums(t, a), temporalDatums(t, b)
					if out, err := compute.CallFunction(onCPU(), name, nil, x[form], y[form]); err == nil {
						out.Release()
					}
					require.Equal(t, []string{newLeft().String(), newRight().String()}, []string{a.String(), b.String()},
						"%s(%s, %s) of a %s", name, left, right, form)
					releaseDatums(x, y)
				}
			}
		}
	}
}

func releaseDatums(groups ...map[string]compute.Datum) {
	for _, g := range groups {
		for _, d := range g {
			d.Release()
		}
	}
}

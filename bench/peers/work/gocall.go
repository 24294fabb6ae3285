package work

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	arrowmath "github.com/apache/arrow-go/v18/arrow/math"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	ours "github.com/broadhead-go/broadhead/compute"

	"github.com/broadhead-go/broadhead/bench/peers/race"
)

// GoEngine is Broadhead or arrow-go with one allocator.
type GoEngine struct {
	name, version string
	ours          bool
	mem           arrowmem.Allocator
	ctx           context.Context
	rec           arrow.RecordBatch
}

// Broadhead is this repository's compute with an allocator.
func Broadhead(name string, mem arrowmem.Allocator) *GoEngine {
	return &GoEngine{name: name, version: "this commit", ours: true, mem: mem, ctx: ours.WithAllocator(context.Background(), mem)}
}

// ArrowGo is arrow-go's compute with its default allocator.
func ArrowGo(version string) *GoEngine {
	return &GoEngine{name: "arrow-go", version: version, mem: arrowmem.DefaultAllocator, ctx: context.Background()}
}

func (e *GoEngine) Name() string    { return e.name }
func (e *GoEngine) Version() string { return e.version }
func (e *GoEngine) Close() error    { return nil }

// Load makes the columns of a group.
func (e *GoEngine) Load(g *Group, _ string) error {
	e.rec = g.Columns(e.mem)
	return nil
}

// Unload releases them.
func (e *GoEngine) Unload() error {
	e.rec.Release()
	e.rec = nil
	return nil
}

// Start prepares a case.
func (e *GoEngine) Start(c Case) (race.Runner, error) {
	r := &goRunner{c: c}
	var args []compute.Datum
	for _, a := range c.Args {
		d, err := e.datum(c, a)
		if err != nil {
			return nil, err
		}
		args = append(args, d)
	}
	r.release = func() {
		for _, a := range args {
			a.Release()
		}
	}
	var opts compute.FunctionOptions
	if c.Options != nil {
		opts = c.Options(c.Type)
	}
	name, call := c.Function, ours.CallFunction
	if !e.ours {
		call = compute.CallFunction
		if c.ArrowGo != "" {
			name = c.ArrowGo
		}
		if c.Name == "sum" && !c.Nulls && c.Type.ID() != arrow.INT32 {
			r.call = func() (compute.Datum, error) { return arrowSum(args[0].(*compute.ArrayDatum)) }
			return r, nil
		}
		if _, ok := compute.GetFunctionRegistry().GetFunction(name); !ok {
			r.Close()
			return nil, race.ErrCannot
		}
	}
	r.call = func() (compute.Datum, error) { return call(e.ctx, name, opts, args...) }
	return r, nil
}

// datum is an argument by name.
func (e *GoEngine) datum(c Case, name string) (compute.Datum, error) {
	switch name {
	case "half":
		return compute.NewDatum(scalar.MakeScalar(c.Half())), nil
	case "word":
		return compute.NewDatum(scalar.MakeScalar(Word())), nil
	}
	at := e.rec.Schema().FieldIndices(name)
	if len(at) != 1 {
		return nil, fmt.Errorf("there is no column %s", name)
	}
	arr := e.rec.Column(at[0])
	if name == "index" {
		half := array.NewSlice(arr, 0, int64(c.Rows/2))
		defer half.Release()
		return compute.NewDatum(half), nil
	}
	return compute.NewDatum(arr), nil
}

// arrowSum is the only sum that arrow-go has. It takes no notice of nulls.
func arrowSum(d *compute.ArrayDatum) (compute.Datum, error) {
	switch arr := d.MakeArray().(type) {
	case *array.Int64:
		defer arr.Release()
		return compute.NewDatum(arrowmath.Int64.Sum(arr)), nil
	case *array.Float64:
		defer arr.Release()
		return compute.NewDatum(arrowmath.Float64.Sum(arr)), nil
	}
	return nil, race.ErrCannot
}

type goRunner struct {
	c       Case
	call    func() (compute.Datum, error)
	release func()
}

func (r *goRunner) Variant() string { return "" }
func (r *goRunner) Close()          { r.release() }

func (r *goRunner) Run(n int) (time.Duration, error) {
	start := time.Now()
	for range n {
		d, err := r.call()
		if err != nil {
			return 0, err
		}
		d.Release()
	}
	return time.Since(start), nil
}

// Check gives the numbers that all engines must agree on.
func (r *goRunner) Check() ([]float64, error) {
	d, err := r.call()
	if err != nil {
		return nil, err
	}
	defer d.Release()
	switch d := d.(type) {
	case *compute.ScalarDatum:
		return scalarNumbers(d.Value)
	case *compute.ArrayDatum:
		arr := d.MakeArray()
		defer arr.Release()
		n, err := arrayNumbers(arr)
		return r.c.Agreed(n), err
	}
	return nil, fmt.Errorf("no check for a %s", d.Kind())
}

func scalarNumbers(s scalar.Scalar) ([]float64, error) {
	if st, ok := s.(*scalar.Struct); ok {
		var all []float64
		for _, f := range st.Value {
			one, err := scalarNumbers(f)
			if err != nil {
				return nil, err
			}
			all = append(all, one...)
		}
		return all, nil
	}
	arr, err := scalar.MakeArrayFromScalar(s, 1, arrowmem.DefaultAllocator)
	if err != nil {
		return nil, err
	}
	defer arr.Release()
	n, err := arrayNumbers(arr)
	if err != nil {
		return nil, err
	}
	return n[1:], nil
}

// arrayNumbers is the number of valid rows and their sum.
func arrayNumbers(arr arrow.Array) ([]float64, error) {
	switch arr := arr.(type) {
	case *array.Int32:
		return numbersOf(arr, func(i int) float64 { return float64(arr.Value(i)) }), nil
	case *array.Int64:
		return numbersOf(arr, func(i int) float64 { return float64(arr.Value(i)) }), nil
	case *array.Float32:
		return numbersOf(arr, func(i int) float64 { return float64(arr.Value(i)) }), nil
	case *array.Float64:
		return numbersOf(arr, arr.Value), nil
	case *array.Boolean:
		return numbersOf(arr, func(i int) float64 {
			if arr.Value(i) {
				return 1
			}
			return 0
		}), nil
	}
	return nil, fmt.Errorf("no check for %s", arr.DataType())
}

func numbersOf(arr arrow.Array, value func(i int) float64) []float64 {
	n, sum := 0, 0.0
	for i := range arr.Len() {
		if arr.IsValid(i) {
			n++
			sum += value(i)
		}
	}
	return []float64{float64(n), math.Round(sum*1e6) / 1e6}
}

package compute_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/gpu"
)

func TestCallErrors(t *testing.T) {
	ctx := onCPU()
	arr := testInts(memory.DefaultAllocator, 1, 2, 3)
	defer arr.Release()
	d := compute.NewDatumWithoutOwning(arr)
	// resolved calls are kept: what follows must not find those of other options
	for name, opts := range map[string]compute.FunctionOptions{
		"sum": &compute.ScalarAggregateOptions{}, "is_null": &compute.NullOptions{}, "not": nil,
	} {
		if out, err := compute.CallFunction(ctx, name, opts, d); err == nil {
			out.Release()
		}
	}
	table := array.NewTable(arrow.NewSchema(nil, nil), nil, 0)
	defer table.Release()
	for _, c := range []struct {
		name, function string
		opts           compute.FunctionOptions
		args           []compute.Datum
		want           error
	}{
		{"unknown name", "no_such_function", nil, []compute.Datum{d}, arrow.ErrKey},
		{"no argument", "sum", nil, nil, arrow.ErrInvalid},
		{"too few", "add", nil, []compute.Datum{d}, arrow.ErrInvalid},
		{"too many", "not", nil, []compute.Datum{d, d}, arrow.ErrInvalid},
		{"nil argument", "add", nil, []compute.Datum{d, nil}, arrow.ErrInvalid},
		{"options of another function", "sum", &compute.CountOptions{}, []compute.Datum{d}, arrow.ErrInvalid},
		{"options of another function", "is_null", &compute.CountOptions{}, []compute.Datum{d}, arrow.ErrInvalid},
		{"options of another function", "filter", &compute.CountOptions{}, []compute.Datum{d, d}, arrow.ErrInvalid},
		{"options where there are none", "not", &compute.CountOptions{}, []compute.Datum{d}, arrow.ErrInvalid},
		{"table where a column is wanted", "sum", nil, []compute.Datum{compute.NewDatumWithoutOwning(table)}, arrow.ErrNotImplemented},
		{"type without a kernel", "and", nil, []compute.Datum{d, d}, arrow.ErrNotImplemented},
	} {
		t.Run(c.name+" "+c.function, func(t *testing.T) {
			out, err := compute.CallFunction(ctx, c.function, c.opts, c.args...)
			if err == nil {
				out.Release()
			}
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if _, err := compute.Explain(ctx, c.function, c.opts, c.args...); err != nil && !errors.Is(err, c.want) {
				t.Errorf("Explain: got %v, want %v", err, c.want)
			}
		})
	}
}

// Options are pointers or values; a nil pointer means the defaults.
func TestOptionsForms(t *testing.T) {
	arr := counting(memory.DefaultAllocator, 10)
	defer arr.Release()
	for _, opts := range []compute.FunctionOptions{
		nil, (*compute.CountOptions)(nil), &compute.CountOptions{}, compute.CountOptions{}, compute.DefaultCountOptions(),
	} {
		out, err := compute.CallFunction(onCPU(), "count", opts, compute.NewDatumWithoutOwning(arr))
		if err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != "9" {
			t.Errorf("%T: got %s", opts, got)
		}
	}
}

func TestSetCrossoverNames(t *testing.T) {
	for _, name := range []string{"no_such_function", "Sum", "run_end_encode"} {
		if err := compute.SetCrossover(name, 1); err == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	inForce := func(function string) (rows int64, from string) {
		for _, c := range compute.Crossovers(gpu.Info{Driver: "metal"}) {
			if c.Function == function && c.Place == compute.HostMemory {
				return c.Rows, c.From
			}
		}
		t.Fatalf("no crossover of %s", function)
		return 0, ""
	}
	shipped, _ := inForce("sum")
	if shipped <= 0 || shipped == compute.Never {
		t.Fatalf("the shipped crossover of sum is %d", shipped)
	}
	for _, step := range []struct {
		function      string
		rows          int64
		sum, add      int64
		fromSum, from string
	}{
		{"sum", 7, 7, -1, "set for sum", ""},
		{"", 9, 7, 9, "set for sum", "set"},
		{"sum", -1, 9, 9, "set", "set"},
		{"add", compute.Never, 9, compute.Never, "set", "set for add"},
		{"add", -1, 9, 9, "set", "set"},
		{"", -1, shipped, -1, "", ""},
	} {
		if err := compute.SetCrossover(step.function, step.rows); err != nil {
			t.Fatal(err)
		}
		for _, f := range []struct {
			name string
			want int64
			from string
		}{{"sum", step.sum, step.fromSum}, {"add", step.add, step.from}} {
			rows, from := inForce(f.name)
			if f.want >= 0 && rows != f.want || f.from != "" && from != f.from {
				t.Errorf("after %q = %d: %s is %d (%s), want %d (%s)", step.function, step.rows, f.name, rows, from, f.want, f.from)
			}
		}
	}
}

// foreign answers every call with a string.
func foreign(name string) compute.Function {
	return compute.NewMetaFunction(name, compute.Arity{NArgs: 1}, compute.FunctionDoc{Summary: "s", ArgNames: []string{"a"}},
		func(context.Context, compute.FunctionOptions, ...compute.Datum) (compute.Datum, error) {
			return compute.NewDatum("the user's"), nil
		})
}

// A name means the user's function in the context's registry, else ours, else arrow-go's.
func TestRegistryOrder(t *testing.T) {
	arr := testInts(memory.DefaultAllocator, 1, 2, 3)
	defer arr.Release()
	d := compute.NewDatumWithoutOwning(arr)
	child := compute.NewChildRegistry(compute.GetFunctionRegistry())
	for _, name := range []string{"sum", "my_function"} {
		if !child.AddFunction(foreign(name), true) {
			t.Fatalf("%s is not added", name)
		}
	}
	exec := compute.DefaultExecCtx()
	exec.Registry = child
	ctx := compute.SetExecCtx(onCPU(), exec)
	for _, c := range []struct {
		ctx            context.Context
		function, want string
	}{
		{ctx, "sum", "the user's"},
		{ctx, "my_function", "the user's"},
		{ctx, "max", "3"},
		{onCPU(), "sum", "6"},
	} {
		out, err := compute.CallFunction(c.ctx, c.function, nil, d)
		if err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.function, got, c.want)
		}
		out.Release()
	}
	ends := compute.RunEndEncodeOptions{RunEndType: arrow.PrimitiveTypes.Int32}
	out, err := compute.CallFunction(onCPU(), "run_end_encode", &ends, d)
	if err != nil {
		t.Fatalf("a function of arrow-go's: %v", err)
	}
	out.Release()
	if why, err := compute.Explain(onCPU(), "run_end_encode", &ends, d); err != nil || why.Device != "arrow-go" {
		t.Errorf("Explain of arrow-go's run_end_encode: %v, %v", why, err)
	}
	if _, err := compute.CallFunction(onCPU(), "my_function", nil, d); !errors.Is(err, arrow.ErrKey) {
		t.Errorf("a function of another registry is found: %v", err)
	}
}

// Register cannot be undone, so it is tried in a process of its own.
func TestRegister(t *testing.T) {
	const child = "BROADHEAD_TEST_REGISTER"
	if os.Getenv(child) == "" {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe, "-test.run=^TestRegister$", "-test.v")
		cmd.Env = append(os.Environ(), child+"=1")
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "PASS: TestRegister") {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	arr := testInts(memory.DefaultAllocator, 1, 2, 3)
	defer arr.Release()
	d := ac.NewDatumWithoutOwning(arr)
	if _, err := ac.CallFunction(context.Background(), "sum", nil, d); !errors.Is(err, arrow.ErrKey) {
		t.Fatalf("arrow-go has sum before: %v", err)
	}
	if !ac.GetFunctionRegistry().AddFunction(foreign("max"), true) {
		t.Fatal("not added")
	}
	compute.Register()
	compute.Register()
	for function, want := range map[string]string{"sum": "6", "min": "1", "max": "the user's"} {
		out, err := ac.CallFunction(context.Background(), function, nil, d)
		if err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != want {
			t.Errorf("%s: got %s, want %s", function, got, want)
		}
	}
	bits := testBools(16)
	defer bits.Release()
	out, err := ac.CallFunction(context.Background(), "not", nil, ac.NewDatumWithoutOwning(bits))
	if err != nil {
		t.Fatal(err)
	}
	out.Release()
	if out, err = compute.CallFunction(context.Background(), "max", nil, d); err != nil || out.String() != "the user's" {
		t.Errorf("the user's global function: %v, %v", out, err)
	}
}

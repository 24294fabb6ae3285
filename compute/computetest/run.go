package computetest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/compute/internal/equal"
	"github.com/broadhead-go/broadhead/gpu"
)

// RunAll runs the table on the path that ctx chooses: its device, its allocator, its NumParallel. Where a device is
// chosen, whatever has a kernel must run there; set the crossover to 0 before. With -short it is RunSome.
func RunAll(t *testing.T, ctx context.Context) {
	if testing.Short() {
		RunSome(t, ctx)
		return
	}
	run(t, ctx, &full, 1<<16+1, 1<<20+1)
}

// RunSome runs a smaller grid as RunAll does, for one more variant of a path.
func RunSome(t *testing.T, ctx context.Context) { run(t, ctx, &short, 1<<16+1) }

func run(t *testing.T, ctx context.Context, g *grid, long ...int) {
	p := pathOf(t, ctx)
	cases := g.cases()
	t.Run("grid", func(t *testing.T) {
		for i := range Table {
			row := &Table[i]
			t.Run(row.Name, func(t *testing.T) {
				t.Parallel()
				for k := range cases[row.Name] {
					c := &cases[row.Name][k]
					t.Run(c.name(), func(t *testing.T) { p.check(t, c) })
				}
			})
		}
	})
	t.Run("long", func(t *testing.T) {
		for _, c := range longCases(long) {
			t.Run(c.row.Name+"/"+c.name(), func(t *testing.T) { p.check(t, &c) })
		}
	})
}

// longCases are long columns, one function for each kind of kernel.
func longCases(lengths []int) []Case {
	var out []Case
	for _, n := range lengths {
		for _, l := range []struct {
			name  string
			types Signature
		}{
			{"add_unchecked", Signature{i64, i64}},
			{"less", Signature{f32, f32}},
			{"or_kleene", Signature{boolType, boolType}},
			{"min_max", Signature{i32}},
			{"sum", Signature{f64}},
			{"filter", Signature{i64, boolType}},
			{"take", Signature{i64, i32}},
		} {
			out = append(out, Case{
				row: rowOf(l.name), types: l.types, length: n, offset: 1, nulls: nullRatio{0.3, 0.3}, flavour: random, shape: shapes[0],
			})
		}
	}
	return out
}

// path is where calls under a context run.
type path struct {
	ctx    context.Context
	driver string // empty: the CPU
}

// pathOf finds out the path by asking where a call with a kernel would run.
func pathOf(t *testing.T, ctx context.Context) path {
	c := Column{Type: i64, Form: Array, Rows: []any{int64(1), int64(2)}}
	d := c.datum(&layout{mem: compute.GetAllocator(ctx)})
	defer d.Release()
	why, err := compute.Explain(ctx, "add", nil, d, d)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case why.Device != cpu:
		return path{ctx: ctx, driver: why.Device}
	case strings.Contains(why.Reason, gpu.ErrNoDevice.Error()):
		return path{ctx: ctx}
	}
	t.Fatalf("the device is not used: %s", why)
	return path{}
}

const cpu = "cpu"

// check runs one case and compares it with the oracle. The case's name, from the function on, is the seed, so that every
// path sees the same data.
func (p *path) check(t *testing.T, c *Case) {
	h := fnv.New64a()
	fmt.Fprint(h, c.row.Name, "/", c.name())
	p.checkWith(t, c, rand.New(rand.NewPCG(h.Sum64(), 0)))
}

func (p *path) checkWith(t *testing.T, c *Case, rng *rand.Rand) {
	t.Helper()
	if c.row.OptionsFor != nil && c.shape.forms[0] == Scalar && scalarType(c.types[0]) != c.types[0] {
		return // the options are of a type that has no scalars
	}
	in, args := c.arguments(p.ctx, rng)
	defer func() {
		for _, a := range args {
			a.Release()
		}
	}()
	want, wantErr := c.row.Oracle(in, c.options())
	before := runsOn(c.row.Name, p.driver)
	why, explained := compute.Explain(p.ctx, c.row.Name, c.options(), args...)
	got, err := compute.CallFunction(p.ctx, c.row.Name, c.options(), args...)
	after := runsOn(c.row.Name, p.driver)
	switch {
	case wantErr != nil:
		if err == nil {
			got.Release()
			t.Fatalf("no error, want %v", wantErr)
		}
		for _, class := range []error{arrow.ErrInvalid, arrow.ErrNotImplemented, arrow.ErrIndex} {
			if errors.Is(wantErr, class) && !errors.Is(err, class) {
				t.Fatalf("got error %v, want %v", err, wantErr)
			}
		}
	case err != nil:
		t.Fatalf("got error %v, want a result", err)
	default:
		defer got.Release()
		if err := same(got, want); err != nil {
			t.Fatal(err)
		}
	}
	if p.driver != "" && explained == nil && !errors.Is(wantErr, arrow.ErrNotImplemented) {
		if err := p.ran(c, why, before, after, err == nil); err != nil {
			t.Fatal(err)
		}
	}
}

// same compares a result with the oracle's.
func same(got compute.Datum, want *Column) error {
	src := source{rng: rand.New(rand.NewPCG(0, 0)), t: want.Type}
	if want.Form == Chunked && len(want.Rows) == 0 && got.(compute.ArrayLikeDatum).Len() == 0 {
		want = &Column{Type: want.Type, Form: Chunked}
	}
	l := layout{cuts: []int{len(want.Rows)}, under: src.bait, mem: compute.GetAllocator(context.Background())}
	d := want.datum(&l)
	defer d.Release()
	return equal.Datums(got, d)
}

// ran checks that a device ran the case if it has a kernel for it, and that Explain said so.
func (p *path) ran(c *Case, why compute.Decision, before, after compute.OpStats, ok bool) error {
	switch {
	case after.Fallbacks != before.Fallbacks:
		return fmt.Errorf("fell back to the CPU: %s", after.LastFallback)
	case why.Device == p.driver:
		if ok && after.Runs != before.Runs+1 {
			return fmt.Errorf("%d runs were counted on %s, want 1 (%s)", after.Runs-before.Runs, p.driver, why)
		}
		return nil
	}
	for _, reason := range c.excuses() {
		if strings.Contains(why.Reason, reason) {
			return nil
		}
	}
	return fmt.Errorf("not run on %s: %s", p.driver, why)
}

// excuses are the reasons for which a case need not run on a device.
func (c *Case) excuses() []string {
	out := []string{"no rows"}
	first, last := c.types[0], c.types[len(c.types)-1]
	switch {
	case strings.HasSuffix(c.row.Name, "filter"):
		out = append(out, "scalars are not filtered")
		if first.ID() == arrow.NULL {
			out = append(out, "no GPU kernel")
		}
	case c.takes():
		out = append(out, "several chunks")
		if first.ID() == arrow.NULL {
			out = append(out, "no GPU kernel")
		}
	case c.row.Name == "is_in":
		out = append(out, "a scalar is left", "a device takes a set of")
		if t := bare(first); !isNumber(t) && !isTemporal(t) {
			out = append(out, "no GPU kernel", "needs a cast")
		}
	case slices.Contains([]string{
		"index_in", "sort_indices", "sort", "unique", "value_counts", "dictionary_encode"}, c.row.Name):
		out = append(out, "no GPU kernel")
	case c.row.OnCPU:
		return append(out, "no GPU kernel", "needs a cast")
	case c.row.Name == "is_null", c.row.Name == "is_not_null", c.row.Name == "count":
		out = append(out, "no validity bitmap")
	case strings.HasPrefix(c.row.Name, "cumulative_"):
		out = append(out, "a scalar is left", "depend on the order")
	case c.row.Name == "cast":
		out = append(out, "shares the argument's memory", "no kernel of ours")
	case isNumber(bare(first)) && isNumber(bare(last)):
		if c.row.Name == "is_nan_propagate" && !isFloat(first) {
			out = append(out, "no GPU kernel")
		}
	case isString(bare(first)) || isString(bare(last)):
		out = append(out, "no GPU kernel")
	case isDictionary(first) || !arrow.TypeEqual(first, last) || isTime(first) || isDate(first) || isDuration(first):
		out = append(out, "needs a cast", "no kernel of ours")
	}
	if isDictionary(last) && (c.row.Name == "if_else" || c.row.Name == "coalesce" || c.row.Name == "fill_null") {
		out = append(out, "no GPU kernel") // dictionaries stay what they are
	}
	if c.row.Name == "coalesce" && len(c.types) == 1 {
		out = append(out, "nothing to compute")
	}
	if first.ID() == arrow.NULL {
		out = append(out, "every row is null", "needs a cast")
	}
	return out
}

// takes says whether the second argument numbers rows of the first.
func (c *Case) takes() bool { return strings.HasSuffix(c.row.Name, "take") }

func runsOn(function, device string) compute.OpStats {
	for _, s := range compute.Stats() {
		if s.Function == function && s.Device == device {
			return s
		}
	}
	return compute.OpStats{}
}

func (c *Case) options() compute.FunctionOptions {
	all := c.row.optionsFor(c.types)
	if n := len(all); n > 0 {
		return all[c.option%n]
	}
	return nil
}

// arguments makes the case's columns and lays them out with the context's allocator.
func (c *Case) arguments(ctx context.Context, rng *rand.Rand) ([]*Column, []compute.Datum) {
	in, args := make([]*Column, len(c.types)), make([]compute.Datum, len(c.types))
	for i, typ := range c.types {
		src := &source{rng: rng, t: typ, kind: c.flavour, arg: i}
		n := c.length
		switch {
		case c.shape.noChunks:
			n = 0
		case c.shape.forms[i] == Scalar:
			n = 1
		case c.shape.mismatch && i == 1:
			n++
		}
		col := &Column{Type: typ, Form: c.shape.forms[i], Rows: make([]any, n)}
		for r := range col.Rows {
			v := src.next()
			if c.takes() && i == 1 && isInteger(typ) && c.flavour != random {
				v = indexBelow(rng, typ, len(in[0].Rows))
			}
			if rng.Float64() >= c.nulls[i%len(c.nulls)] && !c.shape.null[i] {
				col.Rows[r] = v
			}
		}
		l := &layout{offset: c.offset, under: src.bait, mem: compute.GetAllocator(ctx)}
		if !c.shape.noChunks {
			l.cuts = cut(rng, n)
		}
		in[i], args[i] = col, col.datum(l)
	}
	return in, args
}

package msl_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/broadhead-go/broadhead/msl"
)

// TestKernels checks what holds for the text of every key.
func TestKernels(t *testing.T) {
	identifier := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	helper := regexp.MustCompile(`(?m)^(?:static inline [a-z0-9]+|struct|#define) ([A-Za-z0-9_]+)`)
	names := map[string]msl.Key{}
	for _, k := range msl.Keys(append(mapKeys(), unusedKeys()...)...) {
		name, text, err := msl.Text(k)
		if err != nil {
			t.Fatal(err)
		}
		if old, ok := names[name]; ok {
			t.Errorf("%s names both %+v and %+v", name, old, k)
		}
		names[name] = k
		if !identifier.MatchString(name) {
			t.Errorf("%q is no identifier", name)
		}
		if !strings.HasPrefix(text, "#include <metal_stdlib>\nusing namespace metal;\n\n") {
			t.Errorf("%s begins with %.60q", name, text)
		}
		if strings.Count(text, "kernel void ") != 1 || !strings.Contains(text, "kernel void "+name+"(") {
			t.Errorf("%s: the text has another kernel than this one", name)
		}
		if strings.Contains(text, "<no value>") || strings.Contains(text, "{{") {
			t.Errorf("%s: a piece of template is left over", name)
		}
		if k.Caps&msl.Float64 == 0 && strings.Contains(text, "double") {
			t.Errorf("%s: double without the ability", name)
		}
		for _, m := range helper.FindAllStringSubmatch(text, -1) {
			if m[1] != "operator" && strings.Count(text, m[1]) < 2 {
				t.Errorf("%s defines %s and does not use it", name, m[1])
			}
		}
		if k != msl.Canonical(k) {
			t.Errorf("%+v is listed but not canonical", k)
		}
	}
}

func TestNames(t *testing.T) {
	for want, k := range map[string]msl.Key{
		"add_unchecked_i64":                   {Skeleton: msl.Map, Op: "add_unchecked", In: msl.I64, Out: msl.I64},
		"equal_f64_nulls":                     {Skeleton: msl.Map, Op: "equal", In: msl.F64, Out: msl.Bool, Flags: msl.ANulls | msl.BNulls},
		"equal_f64_anulls_native":             {Skeleton: msl.Map, Op: "equal", In: msl.F64, Out: msl.Bool, Flags: msl.ANulls, Caps: msl.Float64 | msl.Atomic64},
		"equal_i64_bnulls_pending":            {Skeleton: msl.Map, Op: "equal", In: msl.I64, Out: msl.Bool, Flags: msl.BNulls | msl.Pending, Caps: msl.Float64},
		"equal_i64_to_i64":                    {Skeleton: msl.Map, Op: "equal", In: msl.I64, Out: msl.I64},
		"add_unchecked_i32_to_i64":            {Skeleton: msl.Map, Op: "add_unchecked", In: msl.I32, Out: msl.I64},
		"test_is_valid_u8_nulls":              {Skeleton: msl.Map, Op: "test_is_valid", In: msl.U8, Out: msl.Bool, Flags: msl.ANulls},
		"sum_i64_nulls":                       {Skeleton: msl.Reduce, Op: msl.OpSum, In: msl.I64, Flags: msl.ANulls},
		"count_nulls":                         {Skeleton: msl.Reduce, Op: msl.OpCount, In: msl.I8, Flags: msl.ANulls},
		"count_true":                          {Skeleton: msl.Reduce, Op: msl.OpBool, In: msl.Bool},
		"exact_sum_f32_pending_native":        {Skeleton: msl.ReduceExact, Op: msl.OpSum, In: msl.F32, Flags: msl.Pending, Caps: msl.Float64},
		"finish_mean_f64":                     {Skeleton: msl.Finish, Op: "mean", In: msl.F64, Out: msl.F64},
		"finish_mean_i8_native":               {Skeleton: msl.Finish, Op: "mean", In: msl.I8, Out: msl.F64, Caps: msl.Float64},
		"aggregate_min_max_f32_nulls_pending": {Skeleton: msl.Aggregate, Op: "min_max", In: msl.F32, Out: msl.F32, Flags: msl.ANulls | msl.Pending},
		"finish_count_null":                   {Skeleton: msl.Finish, Op: "count_null", In: msl.F32, Out: msl.I64},
		"compact_count_nulls_emit":            {Skeleton: msl.CompactCount, Flags: msl.ANulls | msl.EmitNull},
		"compact_scan":                        {Skeleton: msl.CompactScan, Caps: msl.ForwardProgress},
		"compact_scatter_u32":                 {Skeleton: msl.CompactScatter, In: msl.U32},
		"gather_i32_bool_anulls_pending":      {Skeleton: msl.Gather, In: msl.I32, Out: msl.Bool, Flags: msl.ANulls | msl.Pending},
		"fill":                                {Skeleton: msl.Fill},
		"member_f64_nulls_emit":               {Skeleton: msl.Member, In: msl.F64, Flags: msl.ANulls | msl.EmitNull, Caps: msl.Float64},
		"member_u8_pending":                   {Skeleton: msl.Member, In: msl.U8, Flags: msl.Pending},
	} {
		if got, _, err := msl.Text(k); got != want || err != nil {
			t.Errorf("%+v: %q, %v, want %q", k, got, err, want)
		}
	}
}

func TestNoKernel(t *testing.T) {
	for _, k := range []msl.Key{
		{},
		{Skeleton: 99},
		{Skeleton: msl.Map, Op: "no such op", In: msl.I64, Out: msl.I64},
		{Skeleton: msl.Map, Op: "add", In: msl.I64},
		{Skeleton: msl.Map, Op: "add", In: msl.I64, Out: 77},
		{Skeleton: msl.Map, Op: "add", In: msl.I64, Out: msl.I64, Flags: msl.EmitNull},
		{Skeleton: msl.Map, Op: "not", In: msl.Bool, Out: msl.Bool, Flags: msl.BNulls},
		{Skeleton: msl.Reduce, Op: "median", In: msl.I64},
		{Skeleton: msl.Reduce, Op: msl.OpSum, In: msl.F64},
		{Skeleton: msl.Reduce, Op: msl.OpSum, In: msl.I64, Out: msl.I64},
		{Skeleton: msl.Reduce, Op: msl.OpMinMax, In: msl.Bool},
		{Skeleton: msl.ReduceExact, Op: msl.OpSum, In: msl.I64},
		{Skeleton: msl.ReduceExact, Op: msl.OpMean, In: msl.F64},
		{Skeleton: msl.Finish, Op: "sum", In: msl.I64, Out: msl.U64},
		{Skeleton: msl.Finish, Op: "any", In: msl.I64, Out: msl.Bool},
		{Skeleton: msl.Aggregate, Op: "sum", In: msl.F64, Out: msl.F64},
		{Skeleton: msl.Aggregate, Op: "sum", In: msl.I64, Out: msl.U64},
		{Skeleton: msl.Finish, Op: "median", In: msl.I64, Out: msl.I64},
		{Skeleton: msl.CompactCount, Flags: msl.EmitNull},
		{Skeleton: msl.CompactCount, In: msl.Bool},
		{Skeleton: msl.CompactScan, Op: "sum"},
		{Skeleton: msl.CompactScatter, In: msl.I64},
		{Skeleton: msl.CompactScatter, In: msl.U64, Flags: msl.Pending},
		{Skeleton: msl.Gather, In: msl.F64, Out: msl.U64},
		{Skeleton: msl.Gather, In: msl.I32, Out: msl.F64},
		{Skeleton: msl.Fill, Flags: msl.ANulls},
		{Skeleton: msl.Member, In: msl.I64},
		{Skeleton: msl.Member, In: msl.Bool},
		{Skeleton: msl.Member, In: msl.U32, Out: msl.Bool},
		{Skeleton: msl.Member, In: msl.U32, Flags: msl.BNulls},
	} {
		builds := msl.Builds()
		name, text, err := msl.Text(k)
		if err == nil {
			t.Errorf("%+v gives %s", k, name)
			continue
		}
		if name != "" || text != "" || !strings.HasPrefix(err.Error(), "msl: no kernel for ") || msl.Builds() != builds {
			t.Errorf("%+v: %q, %d bytes, %v", k, name, len(text), err)
		}
	}
}

// TestAnyKey asks for keys that make no sense: each gives a kernel or an error.
func TestAnyKey(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	ops := []string{"", "add", "not", "is_null", "sum", "mean", "min_max", "count", "any", "bool", "\n", "x y"}
	for range 20000 {
		k := msl.Key{Skeleton: msl.Skeleton(r.IntN(16)), Op: ops[r.IntN(len(ops))], In: msl.Type(r.IntN(14)), Out: msl.Type(r.IntN(14)),
			Flags: msl.Flags(r.IntN(32)), Caps: msl.Caps(r.IntN(16))}
		name, text, err := msl.Text(k)
		if (err == nil) != (name != "" && text != "") {
			t.Fatalf("%+v: %q, %d bytes, %v", k, name, len(text), err)
		}
		msl.Groups(k, r.Uint64())
		msl.HasOutValid(k)
		msl.HasErr(k)
		if k.Skeleton == msl.Finish && err == nil {
			if _, err := msl.StateKey(k); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestBuilds(t *testing.T) {
	before := msl.Builds()
	k := msl.Key{Skeleton: msl.Map, Op: "add", In: msl.I64, Out: msl.I64}
	for range 3 {
		if _, _, err := msl.Text(k); err != nil {
			t.Fatal(err)
		}
	}
	if got := msl.Builds() - before; got != 3 {
		t.Errorf("%d builds for 3 texts", got)
	}
	if n := testing.AllocsPerRun(100, func() { k = msl.Canonical(k) }); n != 0 {
		t.Errorf("Canonical allocates %v times", n)
	}
}

func TestGroups(t *testing.T) {
	for _, c := range []struct {
		s       msl.Skeleton
		n, want uint64
	}{
		{msl.Map, 0, 0}, {msl.Map, 1, 1}, {msl.Map, msl.MapRows, 1}, {msl.Gather, msl.MapRows + 1, 2}, {msl.Map, 1 << 33, 1 << 22},
		{msl.Map, ^uint64(0), 1 << 53}, {msl.Reduce, 0, 1}, {msl.Reduce, msl.Tile + 1, 2}, {msl.ReduceExact, 1 << 33, msl.MaxGroups},
		{msl.CompactCount, msl.Tile + 1, 2}, {msl.CompactScatter, msl.Tile, 1}, {msl.CompactScan, 1 << 20, 1}, {msl.Finish, 5000, 1},
		{msl.Fill, msl.FillWords + 1, 2}, {msl.Member, msl.MapRows + 1, 2},
	} {
		if got := msl.Groups(msl.Key{Skeleton: c.s}, c.n); got != c.want {
			t.Errorf("%s of %d: %d groups, want %d", c.s, c.n, got, c.want)
		}
	}
}

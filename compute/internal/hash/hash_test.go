package hash

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// shapes are values of sets that tables find hard: dense, spread, equal in their lower or upper halves.
func shapes(rng *rand.Rand, n int) map[string][]uint64 {
	m := map[string][]uint64{}
	for i := range uint64(n) {
		m["dense"] = append(m["dense"], i-uint64(n)/2)
		m["spread"] = append(m["spread"], rng.Uint64())
		m["upper"] = append(m["upper"], i<<50)
		m["middle"] = append(m["middle"], i<<28)
		m["stride"] = append(m["stride"], i*0x9e3779b97f4a7c15)
	}
	return m
}

func testSet[T Key](t *testing.T, values []uint64) {
	t.Helper()
	typed := make([]T, len(values))
	in := map[T]bool{}
	for i, v := range values {
		typed[i] = T(v)
		in[T(v)] = true
	}
	s, d := NewSet(append(typed, typed...)), Displaced[T]{}
	if s.Len() != len(in) {
		t.Fatalf("%d values, want %d", s.Len(), len(in))
	}
	distinct := slices.Compact(slices.Sorted(slices.Values(typed)))
	d = NewDisplaced(distinct)
	odd := newDisplaced(distinct, 0)
	var asked []T
	for _, v := range typed {
		asked = append(asked, v, v+1, v-1, v^1<<7, v*3)
	}
	asked = append(asked, 0, ^T(0))
	dst := make([]uint64, (len(asked)+63)/64)
	for name, words := range map[string]func(dst []uint64, values []T){"set": s.Words, "displaced": d.words, "odd": odd.words} {
		words(dst, asked)
		for i, v := range asked {
			if got := dst[i/64]>>(i%64)&1 == 1; got != in[v] {
				t.Fatalf("%s of %d values: %#x is in it: %t", name, len(in), v, got)
			}
		}
	}
	for i, v := range distinct {
		if d.Index(v) != int32(i) || odd.Index(v) != int32(i) {
			t.Fatalf("%#x has index %d and %d, want %d", v, d.Index(v), odd.Index(v), i)
		}
	}
}

func TestSet(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 7, 100, 256, 513, 20_000} {
		for name, values := range shapes(rng, n) {
			t.Run(name, func(t *testing.T) {
				testSet[uint8](t, values)
				testSet[uint16](t, values)
				testSet[uint32](t, values)
				testSet[uint64](t, values)
			})
		}
	}
}

func testTable[T Key](t *testing.T, rng *rand.Rand, n, distinct int) {
	t.Helper()
	table, want := NewTable[T](), map[T]int32{}
	values, ids := make([]T, n), make([]int32, n)
	for i := range values {
		values[i] = T(rng.IntN(distinct)) << (rng.IntN(2) * 3)
	}
	null := int32(-1)
	for start := 0; start < n; {
		k := min(1+rng.IntN(200), n-start)
		table.IDs(ids[start:], values[start:start+k])
		for i, v := range values[start : start+k] {
			id, ok := want[v]
			if !ok {
				id = int32(len(want))
				if null >= 0 {
					id++
				}
				want[v] = id
			}
			if ids[start+i] != id || table.Values[id] != v || table.ID(v) != id {
				t.Fatalf("row %d: %v has id %d, want %d", start+i, v, ids[start+i], id)
			}
		}
		start += k
		if null < 0 && start > n/2 {
			if null = table.Null(); null != int32(len(want)) || table.Null() != null {
				t.Fatalf("null has id %d, want %d", null, len(want))
			}
		}
	}
	if table.Len() != len(want)+1 && n > 0 {
		t.Fatalf("%d ids, want %d", table.Len(), len(want)+1)
	}
}

func TestTable(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, distinct := range []int{1, 5, 200, 5000} {
		testTable[uint8](t, rng, 3000, distinct)
		testTable[uint16](t, rng, 3000, distinct)
		testTable[uint32](t, rng, 20_000, distinct)
		testTable[uint64](t, rng, 20_000, distinct)
	}
}

func TestStrings(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	table, want := NewStrings(), map[string]int32{}
	for i := range 20_000 {
		b := make([]byte, rng.IntN(12))
		for k := range b {
			b[k] = "ab\x00"[rng.IntN(3)]
		}
		id, ok := want[string(b)]
		if found := table.Find(b); found != id && ok || found >= 0 && !ok {
			t.Fatalf("found %d, want %d", found, id)
		}
		if !ok {
			id = int32(len(want))
			want[string(b)] = id
		}
		if got := table.ID(b); got != id || string(table.Values[id]) != string(b) {
			t.Fatalf("row %d: %q has id %d, want %d", i, b, got, id)
		}
	}
	if null := table.Null(); int(null) != len(want) || table.Null() != null || table.HasNull() != null {
		t.Fatalf("null has id %d", null)
	}
}

func FuzzSet(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		var values []uint64
		for ; len(data) >= 3; data = data[3:] {
			values = append(values, uint64(data[0])<<(data[1]%64)|uint64(data[2]))
		}
		testSet[uint16](t, values)
		testSet[uint64](t, values)
	})
}

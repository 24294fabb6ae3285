package order

import (
	"bytes"
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

func heap(n int) ([]byte, error) { return make([]byte, n+8)[:n], nil }

func never() error { return nil }

// plain is the same order by a comparison sort.
func plain(n int, keys []Key) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = uint64(i)
	}
	slices.SortStableFunc(out, func(a, b uint64) int {
		for i := range keys {
			k := &keys[i]
			var ca, cb Class
			if k.Classes != nil {
				ca, cb = k.Classes[a], k.Classes[b]
			}
			c := cmp.Compare(ca, cb)
			if k.NullsFirst {
				c = -c
			}
			if c == 0 && ca == Value {
				switch {
				case k.Short != nil:
					c = cmp.Compare(k.Short[a], k.Short[b])
				case k.Strings != nil:
					c = bytes.Compare(k.Strings(int(a)), k.Strings(int(b)))
				default:
					for _, w := range k.Words {
						if c == 0 {
							c = cmp.Compare(w[a], w[b])
						}
					}
				}
				if k.Descending {
					c = -c
				}
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return out
}

// randomKey is a key of n rows of one kind.
func randomKey(rng *rand.Rand, n int) Key {
	k := Key{Descending: rng.IntN(2) == 0, NullsFirst: rng.IntN(2) == 0}
	if rng.IntN(2) == 0 {
		k.Classes = make([]Class, n)
		for i := range k.Classes {
			if rng.IntN(3) == 0 {
				k.Classes[i] = Class(rng.IntN(3))
			}
		}
	}
	word := func(limit int) []uint64 {
		w := make([]uint64, n)
		shift := rng.IntN(60)
		for i := range w {
			if w[i] = rng.Uint64(); limit > 0 {
				w[i] = w[i] % uint64(limit) << shift
			}
		}
		return w
	}
	switch rng.IntN(5) {
	case 0:
		k.Short = make([]uint32, n)
		limit := 1 + rng.Uint32()>>rng.IntN(32)
		for i := range k.Short {
			k.Short[i] = rng.Uint32() % limit
		}
	case 1:
		k.Words = [][]uint64{word(0)}
	case 2:
		k.Words = [][]uint64{word(3), word(4), word(0)}
	case 3:
		words := make([][]byte, 1+rng.IntN(60))
		for i := range words {
			words[i] = fmt.Appendf(nil, "%s%d", []string{"", "a long common start ", "\x00"}[rng.IntN(3)], rng.IntN(200))
		}
		rows := make([][]byte, n)
		for i := range rows {
			rows[i] = words[rng.IntN(len(words))]
		}
		k.Strings = func(i int) []byte { return rows[i] }
	default:
		rows := make([][]byte, n)
		for i := range rows {
			rows[i] = make([]byte, rng.IntN(20))
			for j := range rows[i] {
				rows[i][j] = byte(rng.IntN(2)) * 255
			}
		}
		k.Strings = func(i int) []byte { return rows[i] }
	}
	return k
}

func check(t *testing.T, rng *rand.Rand, n int) {
	t.Helper()
	keys := make([]Key, 1+rng.IntN(3))
	for i := range keys {
		keys[i] = randomKey(rng, n)
	}
	want := plain(n, keys)
	for _, workers := range []int{1, 3} {
		got := make([]uint64, n)
		if err := Rows(got, keys, workers, heap, never); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%d rows, %d workers: the order is another", n, workers)
		}
	}
	got := make([]uint64, n)
	if err := rows[uint64](got, keys, 2, heap, never); err != nil || !slices.Equal(got, want) {
		t.Fatalf("%d rows with wide numbers: the order is another (%v)", n, err)
	}
}

func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 2, 3, 10, 24, 25, 100, 1000} {
		for range 40 {
			check(t, rng, n)
		}
	}
	if !testing.Short() {
		for range 6 {
			check(t, rng, 3*alone+17)
		}
	}
}

func TestStops(t *testing.T) {
	want := fmt.Errorf("enough")
	keys := []Key{{Short: make([]uint32, 5)}}
	if err := Rows(make([]uint64, 5), keys, 1, heap, func() error { return want }); err != want {
		t.Errorf("got %v", err)
	}
	full := func(int) ([]byte, error) { return nil, want }
	if err := Rows(make([]uint64, 5), keys, 1, full, never); err != want {
		t.Errorf("got %v", err)
	}
}

func FuzzRows(f *testing.F) {
	f.Add(uint64(1), 50)
	f.Fuzz(func(t *testing.T, seed uint64, n int) {
		check(t, rand.New(rand.NewPCG(seed, 0)), min(max(n, 0), 300))
	})
}

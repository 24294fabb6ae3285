package strs_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/strs"
)

// rows are strings that often equal another, begin it, or differ from it in one byte.
func rows(rng *rand.Rand, n, width int) [][]byte {
	base := []byte("0123456789abcdef0123456789")
	out := make([][]byte, n)
	for i := range out {
		w := width
		if w < 0 {
			w = rng.IntN(len(base) + 1)
		}
		b := bytes.Clone(base[:w])
		if w > 0 && rng.IntN(2) == 0 {
			b[rng.IntN(w)] ^= byte(rng.IntN(256))
		}
		out[i] = b
	}
	return out
}

// layouts are the rows in every layout.
func layouts(rows [][]byte, width int) map[string]*strs.Column {
	var data []byte
	small, large := []int32{0}, []int64{0}
	var views []strs.View
	for _, r := range rows {
		views = append(views, strs.NewView(r, 0, int32(len(data))))
		data = append(data, r...)
		small, large = append(small, int32(len(data))), append(large, int64(len(data)))
	}
	m := map[string]*strs.Column{
		"small": strs.Small(small, data), "large": strs.Large(large, data), "views": strs.Views(views, [][]byte{data}),
	}
	if width >= 0 {
		m["fixed"] = strs.Fixed(len(rows), width, data)
	}
	return m
}

var comparisons = map[cpu.Comparison]func(order int) bool{
	cpu.IsEqual: func(o int) bool { return o == 0 }, cpu.IsNotEqual: func(o int) bool { return o != 0 },
	cpu.IsLess: func(o int) bool { return o < 0 }, cpu.IsLessEqual: func(o int) bool { return o <= 0 },
	cpu.IsGreater: func(o int) bool { return o > 0 }, cpu.IsGreaterEqual: func(o int) bool { return o >= 0 },
}

func TestCompare(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, width := range []int{-1, 0, 1, 3, 8, 12, 17} {
		x, y := rows(rng, 1300, width), rows(rng, 1300, width)
		xs, ys := layouts(x, width), layouts(y, width)
		for name, a := range xs {
			for name2, b := range ys {
				for c, holds := range comparisons {
					for _, n := range []int{1, 63, 64, 65, 1000, 1024} {
						for _, one := range []bool{false, true} {
							i, k := rng.IntN(1300-n), rng.IntN(1300-n)
							var dst [strs.BlockRows / 64]uint64
							if !new(strs.Scratch).Compare(c, dst[:], a, i, b, k, n, one) {
								t.Fatal("sound columns are refused")
							}
							for r := range n {
								p, q := x[i+r], y[k+r]
								if one {
									q = y[k]
								}
								if got, want := dst[r/64]>>(r%64)&1 == 1, holds(bytes.Compare(p, q)); got != want {
									t.Fatalf("%s, %s: %q against %q: %t", name, name2, p, q, got)
								}
							}
							if n%64 != 0 && dst[n/64]>>(n%64) != 0 {
								t.Fatal("bits past the rows are set")
							}
						}
					}
				}
			}
		}
	}
}

// Offsets and views that point elsewhere are found, by Check and by every comparison of rows that look there.
func TestOutside(t *testing.T) {
	data := []byte("0123456789abcdef0123")
	same := func(off []int32) *strs.Column { return strs.Small(off, data) }
	for _, off := range [][]int32{{0, 30}, {-4, 4}, {5, 2}, {1 << 30, 1<<30 + 4}, {-1 << 31, 1<<31 - 1}, {16, 21}} {
		c := same(off)
		if c.Check(cpu.Bitmap{}) {
			t.Errorf("%v are sound offsets", off)
		}
		long := make([]int64, len(off))
		for i, o := range off {
			long[i] = int64(o)
		}
		length := int(off[1] - off[0])
		var dst [strs.BlockRows / 64]uint64
		for _, c := range []*strs.Column{c, strs.Large(long, data)} {
			for kind := range comparisons {
				for _, n := range []int{0, 1, 4, 7, 8, 12, 20, length} {
					if n < 0 || n > 64 {
						continue
					}
					new(strs.Scratch).Compare(kind, dst[:], c, 0, strs.One(make([]byte, n)), 0, 1, true) // does not crash
				}
				new(strs.Scratch).Compare(kind, dst[:], c, 0, c, 0, 1, false)
				if length >= 0 && length <= 64 && length > 0 && new(strs.Scratch).Compare(kind, dst[:], c, 0, c, 0, 1, false) {
					t.Errorf("%v: compared what is not there", off)
				}
			}
		}
	}
	far := strs.NewView(make([]byte, 13), 0, 10)
	for _, v := range []strs.View{far, strs.NewView(make([]byte, 13), 3, 0), {Len: -1}, {Len: 1 << 30}} {
		c := strs.Views([]strs.View{v}, [][]byte{data})
		if c.Check(cpu.Bitmap{}) || len(c.At(0)) != 0 {
			t.Errorf("%v is a sound view", v)
		}
		if !c.Check(cpu.Bitmap{Data: []byte{0}}) {
			t.Error("a view under a null matters")
		}
	}
}

func FuzzCompare(f *testing.F) {
	f.Add([]byte("abc"), []byte{0, 1, 2, 3}, []byte("b"))
	f.Add([]byte("0123456789abcdef"), []byte{0, 8, 16}, []byte("01234567"))
	f.Fuzz(func(t *testing.T, data, offsets, s []byte) {
		off := make([]int32, min(len(offsets), strs.BlockRows+1))
		if len(off) == 0 {
			return
		}
		for i := range off {
			off[i] = int32(int8(offsets[i]))
		}
		c := strs.Small(off, data)
		sound := c.Check(cpu.Bitmap{})
		var dst [strs.BlockRows / 64]uint64
		for kind, holds := range comparisons {
			ok := new(strs.Scratch).Compare(kind, dst[:], c, 0, strs.One(s), 0, c.Len(), true)
			if sound && !ok {
				t.Fatal("sound offsets are refused")
			}
			for i := range c.Len() {
				if sound && dst[i/64]>>(i%64)&1 == 1 != holds(bytes.Compare(c.At(i), s)) {
					t.Fatalf("row %d: %q against %q", i, c.At(i), s)
				}
			}
		}
	})
}

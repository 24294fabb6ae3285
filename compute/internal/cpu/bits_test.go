package cpu

import (
	"bytes"
	"testing"
)

func TestWord(t *testing.T) {
	r := newRand(1)
	for _, n := range lengths {
		bitmaps(r, n, func(name string, b Bitmap) {
			count := 0
			for i := 0; i <= n; i++ {
				if i < n && b.Bit(i) {
					count++
				}
				var want uint64
				for k := 0; k < 64 && i+k < n; k++ {
					want |= bit(b.Bit(i+k)) << k
				}
				if n > 200 && i%61 != 0 {
					continue
				}
				if got := b.Word(i, n); got != want {
					t.Fatalf("n=%d/%s: Word(%d) = %x, want %x", n, name, i, got, want)
				}
				if got := b.Slice(i).Word(0, n-i); got != want {
					t.Fatalf("n=%d/%s: Slice(%d).Word = %x, want %x", n, name, i, got, want)
				}
			}
			if got := b.Count(n); got != count {
				t.Fatalf("n=%d/%s: Count = %d, want %d", n, name, got, count)
			}
			if b.All() != (name == "absent") {
				t.Fatalf("%s: All = %v", name, b.All())
			}
		})
	}
}

func TestMapBits(t *testing.T) {
	type kernel func(dst []byte, a, b Bitmap, n int)
	kernels := []struct {
		name string
		run  kernel
		want func(a, b bool) bool
	}{
		{"and", AndBits, func(a, b bool) bool { return a && b }},
		{"or", OrBits, func(a, b bool) bool { return a || b }},
		{"xor", XorBits, func(a, b bool) bool { return a != b }},
		{"and_not", AndNotBits, func(a, b bool) bool { return a && !b }},
		{"not", func(dst []byte, a, _ Bitmap, n int) { NotBits(dst, a, n) }, func(a, _ bool) bool { return !a }},
		{"copy", func(dst []byte, a, _ Bitmap, n int) { CopyBits(dst, a, n) }, func(a, _ bool) bool { return a }},
		{"map", func(dst []byte, a, b Bitmap, n int) {
			MapBits(dst, a, b, n, func(a, b uint64) uint64 { return ^(a | b) })
		}, func(a, b bool) bool { return !a && !b }},
	}
	r := newRand(2)
	for _, n := range lengths {
		if n > 1100 {
			continue
		}
		var all []Bitmap
		for _, off := range offsets {
			all = append(all, randomBitmap(r, n, off, 0.5))
		}
		all = append(all, Bitmap{}, randomBitmap(r, n, 0, 1))
		for _, k := range kernels {
			for _, a := range all {
				for _, b := range all {
					// Guard bytes after the bitmap must survive.
					got := bytes.Repeat([]byte{0xa5}, (n+7)/8+3)
					want := bytes.Clone(got)
					clear(want[:(n+7)/8])
					for i := range n {
						want[i>>3] |= byte(bit(k.want(a.Bit(i), b.Bit(i)))) << (i & 7)
					}
					k.run(got, a, b, n)
					if !bytes.Equal(got, want) {
						t.Fatalf("%s n=%d off=%d,%d:\ngot  %x\nwant %x", k.name, n, a.Off, b.Off, got, want)
					}
				}
			}
		}
	}
}

func TestMapBitsInPlace(t *testing.T) {
	r := newRand(3)
	for _, n := range lengths {
		a, b := randomBitmap(r, n, 0, 0.5), randomBitmap(r, n, 5, 0.5)
		want := make([]byte, (n+7)/8)
		AndBits(want, a, b, n)
		AndBits(a.Data, a, b, n)
		if !bytes.Equal(a.Data, want) {
			t.Fatalf("n=%d: in place differs", n)
		}
	}
}

func TestFillPadding(t *testing.T) {
	for n := range 80 {
		for size := (n + 7) / 8; size < 16; size++ {
			b := bytes.Repeat([]byte{0xff}, size)
			FillPadding(b, n)
			m := Bitmap{Data: b}
			for i := range size * 8 {
				if m.Bit(i) != (i < n) {
					t.Fatalf("n=%d size=%d: bit %d is %v", n, size, i, m.Bit(i))
				}
			}
		}
	}
}

func TestWords(t *testing.T) {
	r := newRand(12)
	for _, n := range lengths {
		bitmaps(r, n+70, func(name string, b Bitmap) {
			for _, i := range []int{0, 1, 63, 64, 70} {
				words := make([]uint64, (n+63)/64+1)
				words[len(words)-1] = 7
				b.Words(words, i, n)
				dst := make([]byte, (n+7)/8)
				PutWords(dst, words, n)
				for k := range n {
					if want := b.Bit(i + k); words[k>>6]>>(k&63)&1 != 0 != want || (Bitmap{Data: dst}).Bit(k) != want {
						t.Fatalf("%s: row %d of %d from %d is not %v", name, k, n, i, want)
					}
				}
				if n&63 != 0 && words[n>>6]>>(n&63) != 0 || words[len(words)-1] != 7 {
					t.Fatalf("%s: bits past %d rows from %d", name, n, i)
				}
				if n&7 != 0 && dst[n>>3]>>(n&7) != 0 {
					t.Fatalf("%s: padding of %d rows", name, n)
				}
			}
		})
	}
}

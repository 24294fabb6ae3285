package cpu

import (
	"bytes"
	"slices"
	"testing"
)

// Every width, aligned or not, gives what a loop over rows gives, and an index out of range stops it where it is.
func TestGather(t *testing.T) {
	r := newRand(5)
	for _, n := range append(slices.Clone(lengths), 8192+100) {
		limit := 1 + r.IntN(2*n+1)
		index := make([]uint64, n)
		for i := range index {
			index[i] = r.Uint64N(uint64(limit))
		}
		for _, width := range []int{1, 2, 3, 4, 8, 12, 16, 20, 32} {
			src := make([]byte, limit*width)
			for i := range src {
				src[i] = byte(r.Uint32())
			}
			for _, shift := range []int{0, 1} {
				moved := append(make([]byte, shift), src...)
				for _, bad := range []int{-1, 0, n / 2, n - 1} {
					if bad >= n {
						continue
					}
					at, want := slices.Clone(index), n
					if bad >= 0 {
						at[bad], want = []uint64{uint64(limit), 1 << 63, ^uint64(0)}[r.IntN(3)], bad
					}
					dst := bytes.Repeat([]byte{0x77}, n*width+shift+1)
					done := Gather(width, dst[shift:len(dst)-1], moved[shift:], at, limit)
					if done != want || dst[len(dst)-1] != 0x77 {
						t.Fatalf("n=%d width=%d shift=%d bad=%d: %d rows done, last byte %#x", n, width, shift, bad, done, dst[len(dst)-1])
					}
					for i := range done {
						if !bytes.Equal(dst[shift+i*width:shift+(i+1)*width], src[int(at[i])*width:int(at[i]+1)*width]) {
							t.Fatalf("n=%d width=%d shift=%d bad=%d: row %d differs", n, width, shift, bad, i)
						}
					}
				}
			}
		}
	}
}

func TestGatherBits(t *testing.T) {
	r := newRand(6)
	for _, n := range lengths {
		limit := 1 + r.IntN(2*n+1)
		index := make([]uint64, n)
		for i := range index {
			index[i] = r.Uint64N(uint64(limit))
		}
		bitmaps(r, limit, func(name string, src Bitmap) {
			dst := bytes.Repeat([]byte{0xff}, (n+7)/8+1)
			if done := GatherBits(dst[:len(dst)-1], src, index, limit); done != n || dst[len(dst)-1] != 0xff {
				t.Fatalf("n=%d %s: %d rows done", n, name, done)
			}
			got := Bitmap{Data: dst}
			for i, at := range index {
				if got.Bit(i) != src.Bit(int(at)) {
					t.Fatalf("n=%d %s: row %d differs", n, name, i)
				}
			}
			for i := n; i < 8*(len(dst)-1); i++ {
				if got.Bit(i) {
					t.Fatalf("n=%d %s: padding is not zero", n, name)
				}
			}
			if n > 0 {
				bad := slices.Clone(index)
				bad[n/2] = uint64(limit)
				if done := GatherBits(dst, src, bad, limit); done != n/2 {
					t.Fatalf("n=%d %s: %d rows done before a bad index in row %d", n, name, done, n/2)
				}
			}
		})
	}
}

func TestClearNulls(t *testing.T) {
	r := newRand(7)
	for _, n := range lengths {
		bitmaps(r, n, func(name string, valid Bitmap) {
			index := make([]uint64, n)
			for i := range index {
				index[i] = r.Uint64() | 1
			}
			got := slices.Clone(index)
			ClearNulls(got, valid)
			for i := range got {
				if want := index[i] * bit(valid.Bit(i)); got[i] != want {
					t.Fatalf("n=%d %s: row %d is %d, want %d", n, name, i, got[i], want)
				}
			}
		})
	}
}

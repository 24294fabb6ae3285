package cpu

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
)

// selected is a selection in memory that was something else.
func selected(mask, maskValid Bitmap, n int, emitNull bool, par int) *Selection {
	s := &Selection{n: 77, words: bytes.Repeat([]byte{0xee}, n/8+16), starts: []int{5, 6, 7}, mask: Bitmap{Data: []byte{1}}}
	s.Select(mask, maskValid, n, emitNull, par)
	return s
}

// checkSelection compares everything a Selection does with a loop over rows.
func checkSelection(t *testing.T, mask, maskValid, srcValid Bitmap, n int, emitNull bool, par int) {
	t.Helper()
	s := selected(mask, maskValid, n, emitNull, par)
	var rows []int
	for i := range n {
		if keep := mask.Bit(i) && maskValid.Bit(i); keep || emitNull && !maskValid.Bit(i) {
			rows = append(rows, i)
		}
	}
	fail := func(what string, got, want any) {
		t.Helper()
		t.Fatalf("n=%d off=%d,%d,%d emitNull=%v par=%d: %s = %v, want %v", n, mask.Off, maskValid.Off, srcValid.Off, emitNull, par, what, got, want)
	}
	if s.Count() != len(rows) || s.Len() != n || s.Kept().Count(n) != len(rows) {
		fail("Count", s.Count(), len(rows))
	}
	indices := make([]int32, len(rows))
	Indices(s, indices, par)
	for k, row := range rows {
		if int(indices[k]) != row {
			fail("Indices", indices, rows)
		}
	}
	var runs []int
	end := -1
	s.Runs(func(start, n int) {
		if start == end || n <= 0 {
			fail("Runs", "split run", "whole runs")
		}
		end = start + n
		for i := range n {
			runs = append(runs, start+i)
		}
	})
	if !slices.Equal(runs, rows) {
		fail("Runs", runs, rows)
	}

	for _, width := range []int{0, 1, 2, 3, 4, 8, 12, 16, 20} {
		src := make([]byte, n*width)
		for i := range src {
			src[i] = byte(i/max(width, 1)) ^ byte(i>>8)*31 ^ byte(i)
		}
		want := make([]byte, 0, len(rows)*width)
		for _, row := range rows {
			want = append(want, src[row*width:(row+1)*width]...)
		}
		for _, shift := range []int{0, 1} {
			// A shift of one byte makes the memory unaligned.
			dst := bytes.Repeat([]byte{0x77}, len(want)+shift+1)
			moved := append(make([]byte, shift), src...)
			s.Values(width, dst[shift:len(dst)-1], moved[shift:], par)
			if !bytes.Equal(dst[shift:len(dst)-1], want) || dst[len(dst)-1] != 0x77 {
				fail(fmt.Sprintf("Values(%d)", width), dst, want)
			}
		}
	}

	want, wantValid := make([]byte, (len(rows)+7)/8), make([]byte, (len(rows)+7)/8)
	nulls := 0
	for k, row := range rows {
		want[k>>3] |= byte(bit(srcValid.Bit(row))) << (k & 7)
		valid := srcValid.Bit(row) && maskValid.Bit(row)
		wantValid[k>>3] |= byte(bit(valid)) << (k & 7)
		nulls += int(bit(!valid))
	}
	got := bytes.Repeat([]byte{0x5a}, len(want)+1)
	s.Bits(got[:len(want):len(want)], srcValid, par)
	if !bytes.Equal(got[:len(want)], want) || got[len(want)] != 0x5a {
		fail("Bits", got, want)
	}
	got = bytes.Repeat([]byte{0x5a}, len(want))
	if k := s.Validity(got, srcValid, par); k != nulls || !bytes.Equal(got, wantValid) {
		fail("Validity", got, wantValid)
	}
	if s.EmitsNulls() != (emitNull && !maskValid.All()) {
		fail("EmitsNulls", s.EmitsNulls(), emitNull)
	}
}

func TestSelection(t *testing.T) {
	r := newRand(16)
	for _, n := range []int{0, 1, 7, 8, 9, 63, 64, 65, 129, 1023, 1025, 4097} {
		for _, off := range offsets {
			for _, clear := range ratios {
				mask := randomBitmap(r, n, off, clear)
				other := offsets[r.IntN(len(offsets))]
				maskValid := randomBitmap(r, n, other, ratios[r.IntN(len(ratios))])
				srcValid := randomBitmap(r, n, offsets[r.IntN(len(offsets))], 0.3)
				if n > 1100 && r.IntN(4) != 0 {
					continue
				}
				checkSelection(t, mask, maskValid, srcValid, n, false, 1)
				checkSelection(t, mask, maskValid, srcValid, n, true, 1)
				checkSelection(t, mask, Bitmap{}, Bitmap{}, n, off&1 == 0, 1)
			}
		}
	}
	checkSelection(t, Bitmap{}, Bitmap{}, Bitmap{}, 100, true, 1)
}

// Many morsels on many goroutines, whose outputs meet inside bytes; some keep
// nothing and some fewer rows than one byte holds.
func TestSelectionParallel(t *testing.T) {
	r := newRand(17)
	n := 9*selectMorsel + 77
	for _, clear := range []float64{0, 0.5, 1} {
		for _, par := range []int{2, 7} {
			mask := randomBitmap(r, n, 33, clear)
			for m := range 9 {
				few := r.IntN(20)
				if m%3 == 1 {
					for i := m * selectMorsel; i < (m+1)*selectMorsel; i++ {
						p := mask.Off + i
						mask.Data[p>>3] &^= 1 << (p & 7)
						if i%selectMorsel < few {
							mask.Data[p>>3] |= 1 << (p & 7)
						}
					}
				}
			}
			checkSelection(t, mask, randomBitmap(r, n, 7, 0.02), randomBitmap(r, n, 1, 0.3), n, par == 2, par)
		}
	}
	// One row a morsel: several morsels share one byte of output.
	sparse := Bitmap{Data: make([]byte, n/8+1)}
	for i := 5; i < n; i += selectMorsel + 64 {
		sparse.Data[i>>3] |= 1 << (i & 7)
	}
	checkSelection(t, sparse, Bitmap{}, randomBitmap(r, n, 1, 0.5), n, false, 4)
}

// Output past the caches, wherever in a line it starts and ends, and nothing
// beside it.
func TestStreamRows(t *testing.T) {
	checkStreamRows[uint8](t)
	checkStreamRows[uint16](t)
	checkStreamRows[uint32](t)
	checkStreamRows[uint64](t)
}

func checkStreamRows[T uint8 | uint16 | uint32 | uint64](t *testing.T) {
	t.Helper()
	r := newRand(19)
	guard := T(0x5a)
	for _, n := range []int{1, 63, 64, 700, 5000, selectMorsel - 1, selectMorsel} {
		for _, clear := range []float64{0, 0.02, 0.5, 0.99} {
			src := make([]T, n)
			for i := range src {
				src[i] = T(r.Uint64())
			}
			mask := randomBitmap(r, n, 3, clear)
			s := selected(mask, Bitmap{}, n, false, 1)
			var want []T
			for i, v := range src {
				if mask.Bit(i) {
					want = append(want, v)
				}
			}
			for _, shift := range []int{0, 1, 5} {
				dst := make([]T, shift+len(want)+70)
				for i := range dst {
					dst[i] = guard
				}
				streamRows(s, dst[shift:shift+len(want)], src, 0, n)
				if !slices.Equal(dst[shift:shift+len(want)], want) {
					t.Fatalf("%T: n=%d clear=%v shift=%d: wrong rows", guard, n, clear, shift)
				}
				for i, v := range dst {
					if (i < shift || i >= shift+len(want)) && v != guard {
						t.Fatalf("%T: n=%d clear=%v shift=%d: wrote row %d of %d", guard, n, clear, shift, i-shift, len(want))
					}
				}
			}
		}
	}
}

func TestCompress(t *testing.T) {
	r := newRand(18)
	for range 20000 {
		x, mask := r.Uint64(), r.Uint64()
		switch r.IntN(4) {
		case 0:
			mask &= r.Uint64() & r.Uint64()
		case 1:
			mask |= r.Uint64() | r.Uint64()
		case 2:
			mask = lowBits(r.IntN(65)) << r.IntN(64)
		}
		var want uint64
		k := 0
		for i := range 64 {
			if mask>>i&1 != 0 {
				want |= x >> i & 1 << k
				k++
			}
		}
		if got := compress(x, mask); got != want {
			t.Fatalf("compress(%x, %x) = %x, want %x", x, mask, got, want)
		}
	}
}

func FuzzSelection(f *testing.F) {
	f.Add([]byte{0xff, 0x0f, 0xaa}, []byte{0x3c}, uint8(1), true)
	f.Add([]byte{}, []byte{}, uint8(0), false)
	f.Add(bytes.Repeat([]byte{0xff}, 40), bytes.Repeat([]byte{0xff, 0x7f}, 20), uint8(7), true)
	f.Fuzz(func(t *testing.T, mask, valid []byte, off uint8, emitNull bool) {
		shift := int(off % 70)
		n := len(mask)*8 - shift
		if n < 0 || n > 1<<14 {
			return
		}
		maskBits := Bitmap{Data: mask, Off: shift}
		validBits := Bitmap{}
		if have := len(valid) * 8; have > 0 {
			n = min(n, have)
			validBits = Bitmap{Data: valid}
		}
		checkSelection(t, maskBits, validBits, validBits, n, emitNull, 1)
	})
}

package strs

import (
	"bytes"
	"encoding/binary"
	"math/bits"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// Compare writes the bits of rows [i, i+n) of a whose order to those of b, as Equal takes them, c accepts. Strings order
// by their bytes; one that begins another is the smaller. It reports false where a row lies outside of its memory.
func (s *Scratch) Compare(c cpu.Comparison, dst []uint64, a *Column, i int, b *Column, k, n int, one bool) bool {
	switch c {
	case cpu.IsEqual:
		return s.Equal(dst, a, i, b, k, n, one)
	case cpu.IsNotEqual:
		if !s.Equal(dst, a, i, b, k, n, one) {
			return false
		}
		for w := range (n + 63) / 64 {
			dst[w] = ^dst[w]
		}
		if n&63 != 0 {
			dst[n>>6] &= 1<<(n&63) - 1
		}
		return true
	}
	var accept [3]bool // by order + 1
	for order, bit := range []cpu.Comparison{cpu.IsLess, cpu.IsEqual, cpu.IsGreater} {
		accept[order] = c&bit != 0
	}
	return each(dst, a, i, b, k, n, one, func(x, y []byte) bool { return accept[1+Order(x, y)] })
}

// Order is -1, 0 or 1 as x is less than, equal to or greater than y. The first 8 bytes decide most pairs.
func Order(x, y []byte) int {
	if len(x) >= 8 && len(y) >= 8 {
		p, q := binary.LittleEndian.Uint64(x), binary.LittleEndian.Uint64(y)
		switch {
		case p == q:
			return bytes.Compare(x[8:], y[8:])
		case bits.ReverseBytes64(p) < bits.ReverseBytes64(q):
			return -1
		}
		return 1
	}
	return bytes.Compare(x, y)
}

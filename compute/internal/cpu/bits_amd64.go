//go:build !noasm

package cpu

import "math/bits"

// simdBits does the first rows of a function of bitmaps and returns the rest
// of what was asked for. op ignores b if it has one operand.
func simdBits(op int, dst []byte, a, b Bitmap, n int) ([]byte, Bitmap, Bitmap, int) {
	if level == levelNone || a.Data == nil || b.Data == nil || n < 512 {
		return dst, a, b, n
	}
	x, y, shiftA, shiftB := a.Data[a.Off>>3:], b.Data[b.Off>>3:], a.Off&7, b.Off&7
	size, kernel, more := n>>3&^63, op, 0
	if shiftA|shiftB != 0 {
		kernel, more = kernel+bitOps, 1
		if min(len(x), len(y)) <= size {
			size -= 64
		}
	}
	for i := 0; i < size; i += maxRows {
		n := min(maxRows, size-i)
		callBits(kernel, pointer(dst[i:i+n]), pointer(x[i:i+n+more]), pointer(y[i:i+n+more]), n, shiftA, shiftB)
	}
	return dst[size:], a.Slice(8 * size), b.Slice(8 * size), n - 8*size
}

// simdCount counts the bits up to a whole number of bytes, the first of which
// may be taken apart.
func simdCount(b Bitmap, n int) (count, rows int) {
	if level == levelNone || n < 1024 {
		return 0, 0
	}
	if odd := b.Off & 7; odd != 0 {
		rows = 8 - odd
		count = bits.OnesCount8(b.Data[b.Off>>3] >> odd)
	}
	data := b.Data[(b.Off+rows)>>3:]
	size := (n - rows) >> 3 &^ 63
	for i := 0; i < size; i += maxRows {
		m := min(maxRows, size-i)
		count += int(callCount(0, pointer(data[i:i+m]), m))
	}
	return count, rows + 8*size
}

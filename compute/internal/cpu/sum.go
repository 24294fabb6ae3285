package cpu

import (
	"math/bits"
	"unsafe"
)

// gatherRows is the size of the buffer in which validRows collects rows.
const gatherRows = 256

// validRows hands out slices that together hold the valid values once, in any
// order and none of them empty. Valid stretches are returned in place;
// scattered rows are gathered first, so that no kernel looks at validity.
type validRows[T Number] struct {
	values []T
	valid  Bitmap
	row    int // everything before it was returned or is in buf
	held   int
	buf    [gatherRows]T
}

// next returns the next slice, which is good until the next call, and nil at
// the end.
func (r *validRows[T]) next() []T {
	n := len(r.values)
	for r.row < n {
		start := r.row
		if r.valid.All() {
			r.row = n
			return r.values[start:]
		}
		w := r.valid.Word(start, n)
		if w == ^uint64(0) {
			for r.row += 64; r.row < n && r.valid.Word(r.row, n) == ^uint64(0); r.row += 64 {
			}
			return r.values[start:r.row]
		}
		if r.held > gatherRows-64 {
			return r.gathered()
		}
		r.row = min(start+64, n)
		r.held += gather(r.buf[r.held:], r.values[start:r.row], w)
	}
	return r.gathered()
}

func (r *validRows[T]) gathered() []T {
	if r.held == 0 {
		return nil
	}
	v := r.buf[:r.held]
	r.held = 0
	return v
}

// gather copies the rows of src, at most 64, that w selects to the start of
// dst and returns their number.
func gather[T any](dst, src []T, w uint64) int {
	dst = dst[:bits.OnesCount64(w)]
	if len(src) >= 64 {
		block := (*[64]T)(src)
		for i := range dst {
			dst[i] = block[bits.TrailingZeros64(w)&63]
			w &= w - 1
		}
		return len(dst)
	}
	for i := range dst {
		dst[i] = src[bits.TrailingZeros64(w)]
		w &= w - 1
	}
	return len(dst)
}

// SumInt returns the sum of the valid values in 64 bits, wrapping around; for
// signed types it is the two's complement of the sum.
func SumInt[T Integer](values []T, valid Bitmap) uint64 {
	sum, done := simdSum(values, valid)
	values, valid = values[done:], valid.Slice(done)
	if valid.All() {
		return sum + sumDense(values)
	}
	n := len(values)
	for i := 0; i < n; {
		w := valid.Word(i, n)
		block := values[i:min(i+64, n)]
		i += 64
		switch w {
		case 0:
		case ^uint64(0):
			start := i - 64
			for ; i+64 <= n && valid.Word(i, n) == ^uint64(0); i += 64 {
			}
			sum += sumDense(values[start:i])
		default:
			sum += sumMasked(block, w)
		}
	}
	return sum
}

func sumDense[T Integer](values []T) uint64 {
	var s0, s1, s2, s3 uint64
	for ; len(values) >= 8; values = values[8:] {
		v := (*[8]T)(values)
		s0 += uint64(v[0]) + uint64(v[4])
		s1 += uint64(v[1]) + uint64(v[5])
		s2 += uint64(v[2]) + uint64(v[6])
		s3 += uint64(v[3]) + uint64(v[7])
	}
	for _, v := range values {
		s0 += uint64(v)
	}
	return s0 + s1 + s2 + s3
}

// sumMasked sums the values whose bit in w is set, without branches.
func sumMasked[T Integer](values []T, w uint64) uint64 {
	var s0, s1 uint64
	for ; len(values) >= 4; values = values[4:] {
		v := (*[4]T)(values)
		s0 += uint64(v[0]) & -(w & 1)
		s1 += uint64(v[1]) & -(w >> 1 & 1)
		s0 += uint64(v[2]) & -(w >> 2 & 1)
		s1 += uint64(v[3]) & -(w >> 3 & 1)
		w >>= 4
	}
	for _, v := range values {
		s0 += uint64(v) & -(w & 1)
		w >>= 1
	}
	return s0 + s1
}

// Int128 is a two's complement integer of 128 bits.
type Int128 struct {
	Hi int64
	Lo uint64
}

// Add returns a + b, wrapping around.
func (a Int128) Add(b Int128) Int128 {
	lo, carry := bits.Add64(a.Lo, b.Lo, 0)
	hi, _ := bits.Add64(uint64(a.Hi), uint64(b.Hi), carry)
	return Int128{Hi: int64(hi), Lo: lo}
}

// Float64 returns the float64 nearest to a, ties to even.
func (a Int128) Float64() float64 {
	hi, lo := uint64(a.Hi), a.Lo
	if a.Hi < 0 {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	f := magnitude(hi, lo)
	if a.Hi < 0 {
		return -f
	}
	return f
}

// magnitude rounds an unsigned integer of 128 bits.
func magnitude(hi, lo uint64) float64 {
	if hi == 0 {
		return float64(lo)
	}
	// The top 64 bits decide the rounding once the bits below them are
	// gathered into the lowest one; scaling by a power of two is exact.
	shift := uint(bits.LeadingZeros64(hi))
	top := hi<<shift | lo>>(64-shift)
	if lo<<shift != 0 {
		top |= 1
	}
	f := float64(top)
	for ; shift < 64; shift++ {
		f *= 2
	}
	return f
}

// SumInt128 returns the exact sum of the valid values. Sums of unsigned types
// are never negative.
func SumInt128[T Integer](values []T, valid Bitmap) Int128 {
	// The sum of so many halves of 32 bits fits 64 bits.
	const block = 1 << 30
	if unsafe.Sizeof(T(0)) < 8 {
		var sum Int128
		for len(values) > 0 {
			n := min(len(values), block)
			sum = sum.Add(widened[T](SumInt(values[:n], valid)))
			values, valid = values[n:], valid.Slice(n)
		}
		return sum
	}
	sum, done := simdSumWide(values, valid)
	values, valid = values[done:], valid.Slice(done)
	rows := validRows[T]{values: values, valid: valid}
	for v := rows.next(); v != nil; v = rows.next() {
		for ; len(v) > block; v = v[block:] {
			sum = sum.Add(sumBlock(v[:block]))
		}
		sum = sum.Add(sumBlock(v))
	}
	return sum
}

// widened extends the sign of a sum that fits 64 bits.
func widened[T Integer](sum uint64) Int128 {
	if isSigned[T]() {
		return Int128{Hi: int64(sum) >> 63, Lo: sum}
	}
	return Int128{Lo: sum}
}

func sumBlock[T Integer](values []T) Int128 {
	var wrapped, h0, h1 uint64
	for ; len(values) >= 4; values = values[4:] {
		v := (*[4]T)(values)
		wrapped += uint64(v[0]) + uint64(v[1]) + uint64(v[2]) + uint64(v[3])
		h0 += upperHalf(v[0]) + upperHalf(v[2])
		h1 += upperHalf(v[1]) + upperHalf(v[3])
	}
	for _, v := range values {
		wrapped += uint64(v)
		h0 += upperHalf(v)
	}
	return joinHalves[T](wrapped, h0+h1)
}

// joinHalves returns the sum of at most 2^30 values of 64 bits from its lower
// 64 bits and the sum of the upper halves. The sum of the lower halves fits 64
// bits, so it is what the wrapped sum has beyond the upper ones.
func joinHalves[T Integer](wrapped, halves uint64) Int128 {
	upper := Int128{Hi: int64(halves >> 32), Lo: halves << 32}
	if isSigned[T]() {
		upper.Hi = int64(halves) >> 32
	}
	return upper.Add(Int128{Lo: wrapped - upper.Lo})
}

// upperHalf is v / 2^32, rounded down, in two's complement.
func upperHalf[T Integer](v T) uint64 {
	if isSigned[T]() {
		return uint64(int64(v) >> 32)
	}
	return uint64(v) >> 32
}

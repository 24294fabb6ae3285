package cpu

import (
	"math/bits"
	"unsafe"
)

// And is the bitwise and.
func And[T Integer](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = a[i] & b[i]
	}
	return 0
}

// Or is the bitwise or.
func Or[T Integer](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = a[i] | b[i]
	}
	return 0
}

// Xor is the bitwise exclusive or.
func Xor[T Integer](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	for i := range out {
		out[i] = a[i] ^ b[i]
	}
	return 0
}

// precision is the number of bits that hold the size of a value.
func precision[T Integer]() T {
	bits := T(unsafe.Sizeof(T(0)) * 8)
	if isSigned[T]() {
		bits--
	}
	return bits
}

// ShiftLeftWrap shifts the bits of a by b; where b is negative or not below the
// type's precision, a stays as it is.
func ShiftLeftWrap[T Integer](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	limit := precision[T]()
	for i, x := range a {
		if y := b[i]; y >= 0 && y < limit {
			x <<= uint64(y)
		}
		out[i] = x
	}
	return 0
}

// ShiftLeftChecked reports ShiftAmount where ShiftLeftWrap would not shift.
func ShiftLeftChecked[T Integer](out, a, b []T) Status {
	return ShiftLeftWrap(out, a, b) | amounts(b[:len(out)])
}

// ShiftRightWrap divides a by two to the power b, rounding down; where b is
// negative or not below the type's precision, a stays as it is.
func ShiftRightWrap[T Integer](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	limit := precision[T]()
	for i, x := range a {
		if y := b[i]; y >= 0 && y < limit {
			x >>= uint64(y)
		}
		out[i] = x
	}
	return 0
}

// ShiftRightChecked reports ShiftAmount where ShiftRightWrap would not shift.
func ShiftRightChecked[T Integer](out, a, b []T) Status {
	return ShiftRightWrap(out, a, b) | amounts(b[:len(out)])
}

func amounts[T Integer](b []T) Status {
	limit, bad := precision[T](), false
	for _, y := range b {
		bad = bad || y < 0 || y >= limit
	}
	return statusUnless(!bad, ShiftAmount)
}

// PowerWrap raises a to the power b; integers wrap around. A negative power is
// an error.
func PowerWrap[T Integer](out, a, b []T) (st Status) {
	a, b = a[:len(out)], b[:len(out)]
	for i, x := range a {
		y, r := b[i], T(1)
		if y < 0 {
			st |= NegativePower
		}
		for ; y > 0; y >>= 1 {
			if y&1 != 0 {
				r *= x
			}
			x *= x
		}
		out[i] = r
	}
	return st
}

// PowerChecked is PowerWrap that reports Overflow.
func PowerChecked[T Integer](out, a, b []T) (st Status) {
	a, b = a[:len(out)], b[:len(out)]
	for i, x := range a {
		y, r := b[i], T(1)
		if y < 0 {
			st |= NegativePower
		}
		for y > 0 {
			var s Status
			if y&1 != 0 {
				r, s = product(r, x)
				st |= s
			}
			if y >>= 1; y > 0 {
				// x to twice this power is part of the result
				x, s = product(x, x)
				st |= s
			}
		}
		out[i] = r
	}
	return st
}

// product multiplies and reports Overflow.
func product[T Integer](x, y T) (T, Status) {
	r := x * y
	if isSigned[T]() {
		hi, lo := bits.Mul64(uint64(x), uint64(y))
		if x < 0 {
			hi -= uint64(y)
		}
		if y < 0 {
			hi -= uint64(x)
		}
		return r, statusUnless(uint64(r) == lo && hi == uint64(int64(lo)>>63), Overflow)
	}
	hi, lo := bits.Mul64(uint64(x), uint64(y))
	return r, statusUnless(uint64(r) == lo && hi == 0, Overflow)
}

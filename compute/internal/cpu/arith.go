package cpu

import (
	"math/bits"
	"unsafe"
)

// Status says what went wrong in any lane of an arithmetic kernel.
type Status uint16

const (
	// Overflow: a result does not fit its type.
	Overflow Status = 1 << iota
	// DivideByZero: a divisor was zero.
	DivideByZero
	// NegativeRoot: the square root of a number below zero.
	NegativeRoot
	// ShiftAmount: a shift by less than zero or by more than the type has bits.
	ShiftAmount
	// NegativePower: an integer to a negative power.
	NegativePower
	// OutOfDomain: a function has no value there.
	OutOfDomain
	// LogOfZero and LogOfNegative: a logarithm has no value there.
	LogOfZero
	LogOfNegative
	// Free is the first bit that no kernel sets.
	Free
)

// The operations that there is assembly for.
const (
	arithAdd = iota
	arithSub
	arithMul
	arithDiv
	arithAddChecked
	arithSubChecked
	arithMulChecked
	arithDivChecked
	arithCount
)

// The kernels below compute out[i] from a[i] and b[i] in every lane, also
// under nulls; the three slices have one length, and out may be a or b. Their
// Status is the or of all lanes' errors (see OverValid for columns with
// nulls). The capacity of out tells how much output there is in all, which
// decides whether it goes through the caches. Floats follow IEEE 754 and never report Overflow.

// AddWrap adds; integers wrap around.
func AddWrap[T Number](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	done, _ := simdArith(arithAdd, out, a, b)
	for i := done; i < len(out); i++ {
		out[i] = a[i] + b[i]
	}
	return 0
}

// SubWrap subtracts; integers wrap around.
func SubWrap[T Number](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	done, _ := simdArith(arithSub, out, a, b)
	for i := done; i < len(out); i++ {
		out[i] = a[i] - b[i]
	}
	return 0
}

// MulWrap multiplies; integers wrap around.
func MulWrap[T Number](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	done, _ := simdArith(arithMul, out, a, b)
	for i := done; i < len(out); i++ {
		out[i] = a[i] * b[i]
	}
	return 0
}

// AddChecked adds and reports Overflow.
func AddChecked[T Integer](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	done, ok := simdArith(arithAddChecked, out, a, b)
	status := statusUnless(ok, Overflow)
	out, a, b = out[done:], a[done:], b[done:]
	var bad T
	if isSigned[T]() {
		for i := range out {
			x, y := a[i], b[i]
			r := x + y
			// Both operands differ from the result in sign.
			bad |= (x ^ r) & (y ^ r)
			out[i] = r
		}
	} else {
		for i := range out {
			x, y := a[i], b[i]
			r := x + y
			// The carry out of the top bit.
			bad |= x&y | (x|y)&^r
			out[i] = r
		}
	}
	return status | topBit(bad)
}

// SubChecked subtracts and reports Overflow.
func SubChecked[T Integer](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	done, ok := simdArith(arithSubChecked, out, a, b)
	status := statusUnless(ok, Overflow)
	out, a, b = out[done:], a[done:], b[done:]
	var bad T
	if isSigned[T]() {
		for i := range out {
			x, y := a[i], b[i]
			r := x - y
			bad |= (x ^ y) & (x ^ r)
			out[i] = r
		}
	} else {
		for i := range out {
			x, y := a[i], b[i]
			r := x - y
			// The borrow out of the top bit.
			bad |= ^x&y | ^(x^y)&r
			out[i] = r
		}
	}
	return status | topBit(bad)
}

// topBit turns the top bit of a mask into Overflow.
func topBit[T Integer](bad T) Status {
	return Status(uint64(bad)>>(unsafe.Sizeof(bad)*8-1)) & Overflow
}

// MulChecked multiplies and reports Overflow.
func MulChecked[T Integer](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	var done int
	var status Status
	if unsafe.Sizeof(T(0)) < 8 || !aliases(out, a) && !aliases(out, b) {
		var ok bool
		done, ok = simdArith(arithMulChecked, out, a, b)
		if status = statusUnless(ok, Overflow); !ok && unsafe.Sizeof(T(0)) == 8 {
			// Products of 64 bits may have overflowed; look at them all.
			done, status = 0, 0
		}
	}
	out, a, b = out[done:], a[done:], b[done:]
	var bad uint64
	switch {
	case unsafe.Sizeof(T(0)) < 8:
		// The product fits 64 bits; it overflowed when narrowing changes it.
		// Conversion to uint64 extends the sign, so one form serves both kinds.
		for i := range out {
			p := uint64(a[i]) * uint64(b[i])
			r := T(p)
			bad |= p ^ uint64(r)
			out[i] = r
		}
	case isSigned[T]():
		for i := range out {
			x, y := int64(a[i]), int64(b[i])
			hi, lo := bits.Mul64(uint64(x), uint64(y))
			// From the unsigned high word to the signed one, which must
			// repeat the sign of the low word.
			hi -= uint64(x>>63&y) + uint64(y>>63&x)
			bad |= hi ^ uint64(int64(lo)>>63)
			out[i] = T(lo)
		}
	default:
		for i := range out {
			hi, lo := bits.Mul64(uint64(a[i]), uint64(b[i]))
			bad |= hi
			out[i] = T(lo)
		}
	}
	return status | statusUnless(bad == 0, Overflow)
}

func statusUnless(ok bool, s Status) Status {
	if ok {
		return 0
	}
	return s
}

// aliases reports whether a and b are the same memory.
func aliases[T any](a, b []T) bool { return unsafe.SliceData(a) == unsafe.SliceData(b) }

// DivWrap divides. Integers truncate toward zero; x/0 gives 0 and
// DivideByZero, and the smallest value / -1 gives 0. Floats give infinities
// and NaN.
func DivWrap[T Number](out, a, b []T) Status {
	if isFloat[T]() {
		a, b = a[:len(out)], b[:len(out)]
		done, _ := simdArith(arithDiv, out, a, b)
		for i := done; i < len(out); i++ {
			out[i] = a[i] / b[i]
		}
		return 0
	}
	return divide(out, a, b) & DivideByZero
}

// DivChecked divides. x/0 gives 0 and DivideByZero, for floats as well (0/0
// and NaN/0 included); the smallest integer / -1 gives 0 and Overflow.
func DivChecked[T Number](out, a, b []T) Status {
	return divide(out, a, b)
}

func divide[T Number](out, a, b []T) Status {
	a, b = a[:len(out)], b[:len(out)]
	done, ok := simdArith(arithDivChecked, out, a, b)
	status := statusUnless(ok, DivideByZero)
	out, a, b = out[done:], a[done:], b[done:]
	// Unsigned types have no -1, so their largest value must not match it;
	// 0 does not reach the comparison.
	minusOne := T(0)
	minusOne--
	if minusOne > 0 || isFloat[T]() {
		minusOne = 0
	}
	for i := range out {
		x, y := a[i], b[i]
		switch {
		case y == 0:
			status |= DivideByZero
			out[i] = 0
		case y == minusOne && x == -x && x != 0:
			status |= Overflow
			out[i] = 0
		default:
			out[i] = x / y
		}
	}
	return status
}

// OverValid runs the kernel f and reports the Status of valid lanes alone. out
// must be neither a nor b, since lanes may be computed twice.
func OverValid[T Number](f func(out, a, b []T) Status, out, a, b []T, valid Bitmap) Status {
	if valid.All() {
		return f(out, a, b)
	}
	n := len(out)
	a, b = a[:n], b[:n]
	const block = 1024
	var status Status
	for start := 0; start < n; start += block {
		end := min(start+block, n)
		s := f(out[start:end], a[start:end], b[start:end])
		if s&^status == 0 {
			continue
		}
		// Something new failed: ask again, run by run of valid rows.
		for i := start; i < end; i += 64 {
			for w := valid.Word(i, end); w != 0; {
				from, length := nextRun(w)
				w &^= lowBits(length) << uint(from)
				from += i
				status |= f(out[from:from+length], a[from:from+length], b[from:from+length])
			}
		}
	}
	return status
}

// nextRun returns the start and length of the lowest run of ones in w, which
// is not zero.
func nextRun(w uint64) (from, length int) {
	from = bits.TrailingZeros64(w)
	return from, bits.TrailingZeros64(^(w >> uint(from)))
}

package cpu

import "unsafe"

// castRows is how many rows are converted before looking whether they must be
// converted again in Go.
const castRows = 1 << 14

// CastWrap converts every value of a to O. Integers keep their low bits, and
// numbers become the nearest float, ties to even. Floats lose their fraction;
// beyond the limits of O they give the nearer limit, and NaN gives 0. The
// capacity of out tells how much output there is in all, which decides whether
// it goes through the caches.
func CastWrap[O, I Number](out []O, a []I) {
	a = a[:len(out)]
	for start := 0; start < len(out); start += castRows {
		end := min(start+castRows, len(out))
		wrapSome(out[start:end], a[start:end])
	}
}

func wrapSome[O, I Number](out []O, a []I) {
	if !isFloat[I]() && !isFloat[O]() && unsafe.Sizeof(I(0)) == unsafe.Sizeof(O(0)) {
		copy(out, unsafe.Slice((*O)(unsafe.Pointer(unsafe.SliceData(a))), len(a)))
		return
	}
	done, ok := simdCast(false, out, a)
	if !ok {
		done = 0
	}
	out, a = out[done:], a[done:]
	if !isFloat[I]() || isFloat[O]() {
		for i, v := range a {
			out[i] = O(v)
		}
		return
	}
	low, beyond := castLimits[O, I]()
	for i, v := range a {
		switch {
		case v >= low && v < beyond:
			out[i] = O(v)
		case v >= beyond:
			out[i] = highestInteger[O]()
		case v < low:
			out[i] = O(low)
		default:
			out[i] = 0
		}
	}
}

// CastChecked converts as CastWrap does and reports Overflow where a value
// does not survive: an integer that does not fit, a fraction, and an integer
// beyond those that the float holds without gaps, 2^24 or 2^53 either side of
// zero. Between floats nothing fails.
func CastChecked[O, I Number](out []O, a []I) Status {
	if !canLose[O, I]() {
		CastWrap(out, a)
		return 0
	}
	a = a[:len(out)]
	var status Status
	for start := 0; start < len(out); start += castRows {
		end := min(start+castRows, len(out))
		status |= checkSome(out[start:end], a[start:end])
	}
	return status
}

func checkSome[O, I Number](out []O, a []I) Status {
	done, ok := simdCast(true, out, a)
	if !ok { // something may not fit; look at every value
		done = 0
	}
	out, a = out[done:], a[done:]
	fits := true
	switch {
	case !isFloat[I]() && !isFloat[O]():
		for i, v := range a {
			r := O(v)
			out[i] = r
			fits = fits && I(r) == v && (r < 0) == (v < 0)
		}
	case !isFloat[I]():
		limit := I(uint64(1) << wholeBits[O]())
		for i, v := range a {
			out[i] = O(v)
			fits = fits && v <= limit && (v >= 0 || v >= -limit)
		}
	default:
		low, beyond := castLimits[O, I]()
		for i, v := range a {
			var r O
			inside := v >= low && v < beyond
			if inside {
				r = O(v)
			}
			out[i] = r
			fits = fits && inside && I(r) == v
		}
	}
	return statusUnless(fits, Overflow)
}

// isUnsigned reports whether T is an unsigned integer type.
func isUnsigned[T Number]() bool {
	v := T(0)
	v--
	return v > 0
}

// castLimits are the smallest value of an integer type as a float, and the
// first one past the largest.
func castLimits[O, I Number]() (low, beyond I) {
	bits := 8*unsafe.Sizeof(O(0)) - 1
	half := float64(uint64(1) << bits)
	if isUnsigned[O]() {
		return 0, I(half * 2)
	}
	return I(-half), I(half)
}

// highestInteger is the largest value of an integer type.
func highestInteger[T Number]() T {
	ones := ^uint64(0) >> (64 - 8*unsafe.Sizeof(T(0)))
	if isUnsigned[T]() {
		return T(ones)
	}
	return T(ones >> 1)
}

// wholeBits: a float type has every integer up to this power of two.
func wholeBits[T Number]() uintptr {
	if unsafe.Sizeof(T(0)) == 4 {
		return 24
	}
	return 53
}

// canLose reports whether a value of I may not survive as an O.
func canLose[O, I Number]() bool {
	from, to := unsafe.Sizeof(I(0)), unsafe.Sizeof(O(0))
	switch {
	case isFloat[I]():
		return !isFloat[O]()
	case isFloat[O]():
		return 8*from > wholeBits[O]()
	case isUnsigned[I]():
		return to < from || to == from && !isUnsigned[O]()
	}
	return isUnsigned[O]() || to < from
}

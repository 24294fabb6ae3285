package cpu

import "math"

// The kernels below compute out[i] from a[i] in every lane, also under nulls;
// both have one length, and out may be a.

// AbsWrap is the absolute value; the smallest integer stays what it is.
func AbsWrap[T Number](out, a []T) Status {
	a = a[:len(out)]
	if isFloat[T]() {
		for i, x := range a {
			out[i] = T(math.Abs(float64(x)))
		}
		return 0
	}
	for i, x := range a {
		if x < 0 {
			x = -x
		}
		out[i] = x
	}
	return 0
}

// AbsChecked is the absolute value; that of the smallest integer overflows.
func AbsChecked[T Number](out, a []T) Status {
	return AbsWrap(out, a) | smallest(a[:len(out)])
}

// NegateWrap negates; integers wrap around.
func NegateWrap[T Number](out, a []T) Status {
	a = a[:len(out)]
	for i, x := range a {
		out[i] = -x
	}
	return 0
}

// NegateChecked negates; the smallest integer overflows. T is signed.
func NegateChecked[T Number](out, a []T) Status {
	bad := smallest(a[:len(out)])
	return NegateWrap(out, a) | bad
}

// smallest reports Overflow if a signed integer of a has no negative.
func smallest[T Number](a []T) Status {
	if isFloat[T]() {
		return 0
	}
	bad := false
	for _, x := range a {
		bad = bad || x < 0 && x == -x
	}
	return statusUnless(!bad, Overflow)
}

// Sign is -1, 0 or 1 for integers and durations.
func Sign[T Integer](out []int8, a []T) Status {
	a = a[:len(out)]
	for i, x := range a {
		out[i] = int8(bit(x > 0)) - int8(bit(x < 0))
	}
	return 0
}

// SignFloat is -1, 0 or 1, and NaN for NaN.
func SignFloat[T Float](out, a []T) Status {
	a = a[:len(out)]
	for i, x := range a {
		switch {
		case x > 0:
			x = 1
		case x < 0:
			x = -1
		case x == 0:
			x = 0
		}
		out[i] = x
	}
	return 0
}

// SqrtWrap is the square root, NaN for numbers below zero.
func SqrtWrap[T Float](out, a []T) Status {
	a = a[:len(out)]
	for i, x := range a {
		out[i] = T(math.Sqrt(float64(x)))
	}
	return 0
}

// SqrtChecked is the square root; a number below zero is an error.
func SqrtChecked[T Float](out, a []T) Status {
	a = a[:len(out)]
	bad := false
	for i, x := range a {
		bad = bad || x < 0
		out[i] = T(math.Sqrt(float64(x)))
	}
	return statusUnless(!bad, NegativeRoot)
}

// Invert flips every bit.
func Invert[T Integer](out, a []T) Status {
	a = a[:len(out)]
	for i, x := range a {
		out[i] = ^x
	}
	return 0
}

// IsInf reports which values are infinite.
func IsInf[T Float](a []T) (w uint64) {
	for i, x := range a {
		w |= bit(math.IsInf(float64(x), 0)) << (i & 63)
	}
	return w
}

// IsFinite reports which values are neither infinite nor NaN.
func IsFinite[T Float](a []T) (w uint64) {
	for i, x := range a {
		w |= bit(x-x == 0) << (i & 63)
	}
	return w
}

// Map applies a function of float64 to every value.
func Map[T Float](f func(float64) float64) func(out, a []T) Status {
	return func(out, a []T) Status {
		a = a[:len(out)]
		for i, x := range a {
			out[i] = T(f(float64(x)))
		}
		return 0
	}
}

// MapChecked is Map for a function that has no value everywhere: domain tells
// what is wrong with one.
func MapChecked[T Float](f func(float64) float64, domain func(float64) Status) func(out, a []T) Status {
	return func(out, a []T) (st Status) {
		a = a[:len(out)]
		for i, x := range a {
			st |= domain(float64(x))
			out[i] = T(f(float64(x)))
		}
		return st
	}
}

// Map2 is Map for functions of two values.
func Map2[T Float](f func(a, b float64) float64) func(out, a, b []T) Status {
	return func(out, a, b []T) Status {
		a, b = a[:len(out)], b[:len(out)]
		for i, x := range a {
			out[i] = T(f(float64(x), float64(b[i])))
		}
		return 0
	}
}

// Map2Checked is MapChecked for functions of two values.
func Map2Checked[T Float](f func(a, b float64) float64, domain func(a, b float64) Status) func(out, a, b []T) Status {
	return func(out, a, b []T) (st Status) {
		a, b = a[:len(out)], b[:len(out)]
		for i, x := range a {
			st |= domain(float64(x), float64(b[i]))
			out[i] = T(f(float64(x), float64(b[i])))
		}
		return st
	}
}

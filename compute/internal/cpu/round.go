package cpu

import "math"

// RoundMode is a rounding mode, in arrow-go's order.
type RoundMode uint8

const (
	RoundDown RoundMode = iota
	RoundUp
	RoundTowardsZero
	RoundTowardsInfinity
	RoundHalfDown
	RoundHalfUp
	RoundHalfTowardsZero
	RoundHalfTowardsInfinity
	RoundHalfToEven
	RoundHalfToOdd

	// RoundScaleUp, added to a mode, multiplies before it rounds and divides
	// afterwards; without it it is the other way round.
	RoundScaleUp RoundMode = 16
)

// Integral rounds to an integer, which keeps the sign of x. Infinities and NaN
// stay.
func Integral(x float64, mode RoundMode) float64 {
	switch mode {
	case RoundDown:
		return math.Floor(x)
	case RoundUp:
		return math.Ceil(x)
	case RoundTowardsZero:
		return math.Trunc(x)
	case RoundHalfToEven:
		return math.RoundToEven(x)
	case RoundHalfTowardsInfinity:
		return math.Round(x)
	}
	t := math.Trunc(x)
	fraction := math.Abs(x - t) // exact
	if fraction == 0 || fraction != fraction {
		return x
	}
	negative := math.Signbit(x)
	away := fraction > 0.5
	switch {
	case mode == RoundTowardsInfinity:
		away = true
	case fraction != 0.5:
	case mode == RoundHalfDown:
		away = negative
	case mode == RoundHalfUp:
		away = !negative
	case mode == RoundHalfToOdd:
		away = math.Mod(t, 2) == 0
	}
	if away {
		return t + math.Copysign(1, x)
	}
	return t
}

// IntegralOf is Integral in one mode for every value.
func IntegralOf[T Float](mode RoundMode) func(out, a []T) Status {
	return func(out, a []T) Status {
		a = a[:len(out)]
		switch mode {
		case RoundDown:
			for i, x := range a {
				out[i] = T(math.Floor(float64(x)))
			}
		case RoundUp:
			for i, x := range a {
				out[i] = T(math.Ceil(float64(x)))
			}
		case RoundTowardsZero:
			for i, x := range a {
				out[i] = T(math.Trunc(float64(x)))
			}
		default:
			for i, x := range a {
				out[i] = T(Integral(float64(x), mode))
			}
		}
		return 0
	}
}

// Round rounds a to multiples of unit, or, with RoundScaleUp, to multiples of
// one unit-th. Values that are such multiples stay as they are, infinities and
// NaN too. A result or a scaled value that is too large is an Overflow.
func Round[T Float](out, a, unit []T, mode RoundMode) (st Status) {
	a, unit = a[:len(out)], unit[:len(out)]
	up := mode&RoundScaleUp != 0
	mode &^= RoundScaleUp
	for i, x := range a {
		out[i] = x
		if x-x != 0 {
			continue // no number
		}
		u := unit[i]
		var scaled T
		if up {
			scaled = x * u
		} else {
			scaled = x / u
		}
		if scaled-scaled != 0 {
			st |= Overflow
			continue
		}
		r := T(Integral(float64(scaled), mode))
		if r == scaled {
			if r != 0 || x == 0 {
				continue // a multiple already
			}
			// So far below one that only its sign is left.
			r = T(Integral(math.Copysign(math.SmallestNonzeroFloat64, float64(x)), mode))
		}
		switch {
		case r == 0:
		case up:
			r /= u
		default:
			r *= u
		}
		if r-r != 0 {
			st |= Overflow
			continue
		}
		out[i] = r
	}
	return st
}

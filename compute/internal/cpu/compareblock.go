package cpu

// Comparison is a comparison, as the set of outcomes that it accepts. NaN,
// which is less than, equal to and greater than nothing, passes IsNotEqual
// alone.
type Comparison uint8

const (
	IsLess Comparison = 1 << iota
	IsEqual
	IsGreater

	IsLessEqual    = IsLess | IsEqual
	IsGreaterEqual = IsGreater | IsEqual
	IsNotEqual     = IsLess | IsGreater
)

// Swapped is the comparison that b and a pass where a and b pass c.
func (c Comparison) Swapped() Comparison {
	return c&IsEqual | c&IsLess<<2 | c&IsGreater>>2
}

// ComparisonOf returns the comparison that f, one of those of 64 rows, makes.
func ComparisonOf[T Number](f func(a, b []T) uint64) Comparison {
	return Comparison(f([]T{0, 1, 1}, []T{1, 1, 0}))
}

// Compare writes the bits of any number of rows to dst, row 0 in the lowest
// bit of dst[0]; bits past the rows are zero, words past them are not written.
// a and b have one length.
func Compare[T Number](c Comparison, dst []uint64, a, b []T) {
	b = b[:len(a)]
	for i := simdCompare(c, dst, a, b, false); i < len(a); i += 64 {
		end := min(i+64, len(a))
		dst[i>>6] = wordOf(c, a[i:end], b[i:end])
	}
}

// CompareTo is Compare with one value for all rows of b.
func CompareTo[T Number](c Comparison, dst []uint64, a []T, s T) {
	var b [64]T
	for i := range b {
		b[i] = s
	}
	for i := simdCompare(c, dst, a, b[:], true); i < len(a); i += 64 {
		end := min(i+64, len(a))
		dst[i>>6] = wordOf(c, a[i:end], b[:end-i])
	}
}

// wordOf compares up to 64 rows.
func wordOf[T Number](c Comparison, a, b []T) uint64 {
	switch c {
	case IsLess:
		return Less(a, b)
	case IsEqual:
		return Equal(a, b)
	case IsGreater:
		return Greater(a, b)
	case IsLessEqual:
		return LessEqual(a, b)
	case IsGreaterEqual:
		return GreaterEqual(a, b)
	}
	return NotEqual(a, b)
}

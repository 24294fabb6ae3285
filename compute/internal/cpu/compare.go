package cpu

import "unsafe"

// The comparisons take up to 64 rows and return one bit a row, row 0 lowest.
// Two slices have one length. Floats compare by IEEE 754: NaN equals nothing
// and is unordered, -0 equals +0.

// bit turns a condition into 0 or 1 without a branch.
func bit(c bool) uint64 {
	if c {
		return 1
	}
	return 0
}

// Equal reports a == b.
func Equal[T Number](a, b []T) (w uint64) {
	b = b[:len(a)]
	if len(a) == 64 && simdCompare(IsEqual, unsafe.Slice(&w, 1), a, b, false) > 0 {
		return w
	}
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x, y := (*[8]T)(a[i:]), (*[8]T)(b[i:])
		w |= (bit(x[0] == y[0]) | bit(x[1] == y[1])<<1 | bit(x[2] == y[2])<<2 | bit(x[3] == y[3])<<3 |
			bit(x[4] == y[4])<<4 | bit(x[5] == y[5])<<5 | bit(x[6] == y[6])<<6 | bit(x[7] == y[7])<<7) << (i & 63)
	}
	for ; i < len(a); i++ {
		w |= bit(a[i] == b[i]) << (i & 63)
	}
	return w
}

// NotEqual reports a != b.
func NotEqual[T Number](a, b []T) uint64 { return ^Equal(a, b) & lowBits(len(a)) }

// Less reports a < b.
func Less[T Number](a, b []T) (w uint64) {
	b = b[:len(a)]
	if len(a) == 64 && simdCompare(IsLess, unsafe.Slice(&w, 1), a, b, false) > 0 {
		return w
	}
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x, y := (*[8]T)(a[i:]), (*[8]T)(b[i:])
		w |= (bit(x[0] < y[0]) | bit(x[1] < y[1])<<1 | bit(x[2] < y[2])<<2 | bit(x[3] < y[3])<<3 |
			bit(x[4] < y[4])<<4 | bit(x[5] < y[5])<<5 | bit(x[6] < y[6])<<6 | bit(x[7] < y[7])<<7) << (i & 63)
	}
	for ; i < len(a); i++ {
		w |= bit(a[i] < b[i]) << (i & 63)
	}
	return w
}

// LessEqual reports a <= b.
func LessEqual[T Number](a, b []T) (w uint64) {
	b = b[:len(a)]
	if len(a) == 64 && simdCompare(IsLessEqual, unsafe.Slice(&w, 1), a, b, false) > 0 {
		return w
	}
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x, y := (*[8]T)(a[i:]), (*[8]T)(b[i:])
		w |= (bit(x[0] <= y[0]) | bit(x[1] <= y[1])<<1 | bit(x[2] <= y[2])<<2 | bit(x[3] <= y[3])<<3 |
			bit(x[4] <= y[4])<<4 | bit(x[5] <= y[5])<<5 | bit(x[6] <= y[6])<<6 | bit(x[7] <= y[7])<<7) << (i & 63)
	}
	for ; i < len(a); i++ {
		w |= bit(a[i] <= b[i]) << (i & 63)
	}
	return w
}

// Greater reports a > b.
func Greater[T Number](a, b []T) uint64 { return Less(b, a) }

// GreaterEqual reports a >= b.
func GreaterEqual[T Number](a, b []T) uint64 { return LessEqual(b, a) }

// EqualTo reports a == s.
func EqualTo[T Number](a []T, s T) (w uint64) {
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := (*[8]T)(a[i:])
		w |= (bit(x[0] == s) | bit(x[1] == s)<<1 | bit(x[2] == s)<<2 | bit(x[3] == s)<<3 |
			bit(x[4] == s)<<4 | bit(x[5] == s)<<5 | bit(x[6] == s)<<6 | bit(x[7] == s)<<7) << (i & 63)
	}
	for ; i < len(a); i++ {
		w |= bit(a[i] == s) << (i & 63)
	}
	return w
}

// NotEqualTo reports a != s.
func NotEqualTo[T Number](a []T, s T) uint64 { return ^EqualTo(a, s) & lowBits(len(a)) }

// LessTo reports a < s.
func LessTo[T Number](a []T, s T) (w uint64) {
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := (*[8]T)(a[i:])
		w |= (bit(x[0] < s) | bit(x[1] < s)<<1 | bit(x[2] < s)<<2 | bit(x[3] < s)<<3 |
			bit(x[4] < s)<<4 | bit(x[5] < s)<<5 | bit(x[6] < s)<<6 | bit(x[7] < s)<<7) << (i & 63)
	}
	for ; i < len(a); i++ {
		w |= bit(a[i] < s) << (i & 63)
	}
	return w
}

// LessEqualTo reports a <= s.
func LessEqualTo[T Number](a []T, s T) (w uint64) {
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := (*[8]T)(a[i:])
		w |= (bit(x[0] <= s) | bit(x[1] <= s)<<1 | bit(x[2] <= s)<<2 | bit(x[3] <= s)<<3 |
			bit(x[4] <= s)<<4 | bit(x[5] <= s)<<5 | bit(x[6] <= s)<<6 | bit(x[7] <= s)<<7) << (i & 63)
	}
	for ; i < len(a); i++ {
		w |= bit(a[i] <= s) << (i & 63)
	}
	return w
}

// GreaterTo reports a > s.
func GreaterTo[T Number](a []T, s T) (w uint64) {
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := (*[8]T)(a[i:])
		w |= (bit(x[0] > s) | bit(x[1] > s)<<1 | bit(x[2] > s)<<2 | bit(x[3] > s)<<3 |
			bit(x[4] > s)<<4 | bit(x[5] > s)<<5 | bit(x[6] > s)<<6 | bit(x[7] > s)<<7) << (i & 63)
	}
	for ; i < len(a); i++ {
		w |= bit(a[i] > s) << (i & 63)
	}
	return w
}

// GreaterEqualTo reports a >= s.
func GreaterEqualTo[T Number](a []T, s T) (w uint64) {
	i := 0
	for ; i+8 <= len(a); i += 8 {
		x := (*[8]T)(a[i:])
		w |= (bit(x[0] >= s) | bit(x[1] >= s)<<1 | bit(x[2] >= s)<<2 | bit(x[3] >= s)<<3 |
			bit(x[4] >= s)<<4 | bit(x[5] >= s)<<5 | bit(x[6] >= s)<<6 | bit(x[7] >= s)<<7) << (i & 63)
	}
	for ; i < len(a); i++ {
		w |= bit(a[i] >= s) << (i & 63)
	}
	return w
}

// IsNaN reports which values are NaN.
func IsNaN[T Float](a []T) uint64 { return NotEqual(a, a) }

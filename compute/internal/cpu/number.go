// Package cpu holds the CPU kernels. They know nothing of Arrow's types: they
// take typed slices and bitmaps whose lengths the caller has checked, never
// look at more than they were given, and allocate at most a few words for
// every 16,384 rows. Values under nulls may be anything.
//
// Results never depend on the number of workers or on how rows are cut into
// morsels: integers wrap or widen, float sums are exact, and minima and maxima
// follow a total order.
package cpu

// Signed is any signed integer type.
type Signed interface {
	~int8 | ~int16 | ~int32 | ~int64
}

// Unsigned is any unsigned integer type.
type Unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

// Integer is any integer type.
type Integer interface {
	Signed | Unsigned
}

// Float is any floating-point type.
type Float interface {
	~float32 | ~float64
}

// Number is any type that the arithmetic kernels take.
type Number interface {
	Integer | Float
}

// isFloat reports whether T is a floating-point type; it folds to a constant
// in every instantiation.
func isFloat[T Number]() bool {
	half := T(1)
	half /= 2
	return half != 0
}

// isSigned reports whether T is a signed integer type.
func isSigned[T Integer]() bool {
	return ^T(0) < 0
}

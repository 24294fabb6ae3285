package cpu

// Extremes holds the smallest and largest of the N valid values that are not
// NaN. Floats follow the total order, -0 below +0. Min and Max mean nothing
// when N is 0.
type Extremes[T Number] struct {
	Min, Max T
	N        int
}

// Merge returns the extremes of both sets of values.
func (e Extremes[T]) Merge(o Extremes[T]) Extremes[T] {
	switch {
	case o.N == 0:
		return e
	case e.N == 0:
		return o
	}
	return Extremes[T]{Min: min(e.Min, o.Min), Max: max(e.Max, o.Max), N: e.N + o.N}
}

// MinMax returns the extremes of the valid values.
func MinMax[T Number](values []T, valid Bitmap) Extremes[T] {
	e, done := simdMinMax(values, valid)
	if done == len(values) {
		return e
	}
	rows := validRows[T]{values: values[done:], valid: valid.Slice(done)}
	for v := rows.next(); v != nil; v = rows.next() {
		if isFloat[T]() {
			e = e.Merge(minMaxFloat(v))
		} else {
			e = e.Merge(minMaxInt(v))
		}
	}
	return e
}

// minMaxInt needs at least one value.
func minMaxInt[T Number](values []T) Extremes[T] {
	lo0, hi0 := values[0], values[0]
	lo1, hi1, lo2, hi2, lo3, hi3 := lo0, hi0, lo0, hi0, lo0, hi0
	n := len(values)
	for ; len(values) >= 4; values = values[4:] {
		v := (*[4]T)(values)
		lo0, hi0 = min(lo0, v[0]), max(hi0, v[0])
		lo1, hi1 = min(lo1, v[1]), max(hi1, v[1])
		lo2, hi2 = min(lo2, v[2]), max(hi2, v[2])
		lo3, hi3 = min(lo3, v[3]), max(hi3, v[3])
	}
	for _, v := range values {
		lo0, hi0 = min(lo0, v), max(hi0, v)
	}
	return Extremes[T]{Min: min(lo0, lo1, lo2, lo3), Max: max(hi0, hi1, hi2, hi3), N: n}
}

// minMaxFloat looks at four values at a time and leaves those alone that lie
// within the extremes so far, as in most orders nearly all do; NaN never does.
// The comparison cannot tell the zeros apart, so an extreme of zero takes a
// second look.
func minMaxFloat[T Number](values []T) Extremes[T] {
	for len(values) > 0 && values[0] != values[0] {
		values = values[1:]
	}
	if len(values) == 0 {
		return Extremes[T]{}
	}
	e := Extremes[T]{Min: values[0], Max: values[0], N: len(values)}
	rest := values
	for ; len(rest) >= 4; rest = rest[4:] {
		v := (*[4]T)(rest)
		v0, v1, v2, v3 := v[0], v[1], v[2], v[3]
		if !(v0 >= e.Min && v0 <= e.Max && v1 >= e.Min && v1 <= e.Max &&
			v2 >= e.Min && v2 <= e.Max && v3 >= e.Min && v3 <= e.Max) {
			e.widen(v[:])
		}
	}
	e.widen(rest)
	if e.Min == 0 || e.Max == 0 {
		for _, v := range values {
			if v == 0 {
				e.settleZero(v)
			}
		}
	}
	return e
}

// widen moves the extremes to hold the values and takes NaN off the count.
func (e *Extremes[T]) widen(values []T) {
	for _, v := range values {
		if v < e.Min {
			e.Min = v
		}
		if v > e.Max {
			e.Max = v
		}
		e.N -= int(bit(v != v))
	}
}

// settleZero orders the zero v against extremes that are zero.
func (e *Extremes[T]) settleZero(v T) {
	if e.Min == 0 {
		e.Min = min(e.Min, v)
	}
	if e.Max == 0 {
		e.Max = max(e.Max, v)
	}
}

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
	var e Extremes[T]
	rows := validRows[T]{values: values, valid: valid}
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

// minMaxFloat compares with plain < and >, which pass over NaN and are well
// predicted: in most orders an extreme changes rarely. Those cannot tell the
// zeros apart, so an extreme of zero takes a second look.
func minMaxFloat[T Number](values []T) Extremes[T] {
	var e Extremes[T]
	rest := values
	for len(rest) > 0 && rest[0] != rest[0] {
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return e
	}
	lo, hi, nan := rest[0], rest[0], 0
	for _, v := range rest {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
		nan += int(bit(v != v))
	}
	if lo == 0 || hi == 0 {
		for _, v := range rest {
			if v == 0 {
				if lo == 0 {
					lo = min(lo, v)
				}
				if hi == 0 {
					hi = max(hi, v)
				}
			}
		}
	}
	return Extremes[T]{Min: lo, Max: hi, N: len(rest) - nan}
}

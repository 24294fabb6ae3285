package computetest

import "github.com/apache/arrow-go/v18/arrow"

// toMeet is the type rule of arguments of which one is chosen.
func toMeet(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
	t := in[0]
	for _, x := range in[1:] {
		switch a, b := bare(t), bare(x); {
		case arrow.TypeEqual(t, x):
		case isNumber(a) && isNumber(b):
			t = common(a, b)
		case isDuration(a) && isDuration(b):
			t = duration(finest(a, b))
		case a.ID() == b.ID() && isInstant(a):
			t = timestamp(finest(a, b), zoneOf(a))
		default:
			return nil, nil, errNoKernel
		}
	}
	return every(in, t), t, nil
}

// toChoose is toMeet behind a condition, beside nulls too.
func toChoose(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
	if in[0].ID() != arrow.BOOL {
		return nil, nil, errNoKernel
	}
	casts, t, err := toMeet(in[1:])
	switch {
	case in[1].ID() == arrow.NULL:
		casts, t, err = every(in[1:], in[2]), in[2], nil
	case in[2].ID() == arrow.NULL:
		casts, t, err = every(in[1:], in[1]), in[1], nil
	}
	return append([]arrow.DataType{in[0]}, casts...), t, err
}

// toFirst is the type rule of arguments that become what the first is.
func toFirst(in []arrow.DataType) ([]arrow.DataType, arrow.DataType, error) {
	return every(in, in[0]), in[0], nil
}

// every is the same type for every argument.
func every(in []arrow.DataType, t arrow.DataType) []arrow.DataType {
	out := make([]arrow.DataType, len(in))
	for i := range out {
		out[i] = t
	}
	return out
}

func firstValid(v []any) (any, error) {
	for _, x := range v {
		if x != nil {
			return x, nil
		}
	}
	return nil, nil
}

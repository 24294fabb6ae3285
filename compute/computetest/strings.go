package computetest

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

var (
	fixed5      = &arrow.FixedSizeBinaryType{ByteWidth: 5}
	stringTypes = []arrow.DataType{
		arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString, arrow.BinaryTypes.StringView,
		arrow.BinaryTypes.Binary, arrow.BinaryTypes.LargeBinary, arrow.BinaryTypes.BinaryView, fixed5,
	}
	mixedStrings = []Signature{
		{arrow.BinaryTypes.String, arrow.BinaryTypes.LargeString}, {arrow.BinaryTypes.StringView, arrow.BinaryTypes.String},
		{arrow.BinaryTypes.Binary, arrow.BinaryTypes.String}, {fixed5, arrow.BinaryTypes.Binary},
		{dictStr, arrow.BinaryTypes.LargeBinary},
	}
)

func isString(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW,
		arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY:
		return true
	}
	return false
}

// scalarType is the type of a scalar that stands for one row of a column: arrow-go has no scalars of views.
func scalarType(t arrow.DataType) arrow.DataType {
	switch t.ID() {
	case arrow.STRING_VIEW:
		return arrow.BinaryTypes.String
	case arrow.BINARY_VIEW:
		return arrow.BinaryTypes.Binary
	}
	return t
}

// text is a string that often equals another, begins it, or differs from it in one byte: around the 8 and 16 bytes that
// kernels look at together and the 12 that a view holds.
func (s *source) text() string {
	base := "broadhead\x00broadhead broadhead"
	n := s.rng.IntN(len(base))
	if s.rng.IntN(3) == 0 {
		n = []int{0, 1, 4, 7, 8, 9, 12, 13, 16, 17}[s.rng.IntN(10)]
	}
	out := []byte(base[:n])
	if n > 0 && s.rng.IntN(2) == 0 {
		out[s.rng.IntN(n)] = "\x00a\x7f\x80\xff"[s.rng.IntN(5)]
	}
	if t, ok := s.t.(*arrow.FixedSizeBinaryType); ok {
		out = append(out, strings.Repeat("x", t.ByteWidth)...)[:t.ByteWidth]
	}
	if s.t.ID() == arrow.STRING || s.t.ID() == arrow.LARGE_STRING || s.t.ID() == arrow.STRING_VIEW {
		return strings.ToValidUTF8(string(out), "é")
	}
	return string(out)
}

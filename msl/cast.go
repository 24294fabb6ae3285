package msl

import (
	"fmt"
	"strings"
)

// OpCast is the name of the op that converts whatever the value. It works on values as they are stored, so that casts
// which move the same bits share a kernel.
const OpCast = "cast"

// canonicalCast drops the signs that an unchecked cast does not look at, and abilities where nothing is computed.
func canonicalCast(k Key) Key {
	in, out := k.In, k.Out
	if in == out && in != Bool {
		in, out = unsignedOf(in), unsignedOf(out)
	}
	if in.integer() && (out == Bool || out.integer() && types[out].bits <= types[in].bits) {
		in = unsignedOf(in)
	}
	if out.integer() && !in.float() {
		out = unsignedOf(out)
	}
	k.In, k.Out = in, out
	if in == Bool || out == Bool {
		k.Caps = 0
	}
	return k
}

func unsignedOf(t Type) Type {
	switch types[t].bits {
	case 8:
		return U8
	case 16:
		return U16
	case 32:
		return U32
	}
	return U64
}

// casts returns the functions that turn a into the result's type: cast_wrap, where integers keep their low bits and
// floats lose their fraction and stop at the limits; and cast_checked, which raises overflow where a value is lost.
func casts(from, to Type) []chunk {
	if !from.known() || !to.known() {
		return nil
	}
	in, out := types[from], types[to]
	wrap := "static inline " + out.Value + " cast_wrap(" + in.Value + " a) {\n" + castBody(from, to) + "}\n"
	list := []chunk{{"cast_wrap", wrap}}
	if lost := castLost(from, to); lost != "" {
		list = append(list, chunk{"cast_checked", fmt.Sprintf(`static inline %s cast_checked(%s a, thread uint& bad) {
    %s r = cast_wrap(a);
    if (%s) bad |= ERR_OVERFLOW;
    return r;
}
`, out.Value, in.Value, out.Value, lost)})
	}
	return list
}

// wide is a float as a binary64.
func wide(t Type) string {
	if t == F32 {
		return "sf64_from_float_bits(a.bits)"
	}
	return "a.bits"
}

// whole is the name of the 64-bit integer that holds every value of t.
func whole(t Type) string {
	if types[t].Signed {
		return "long"
	}
	return "ulong"
}

func castBody(from, to Type) string {
	out := types[to]
	plain := func(format string, args ...any) string { return "    return " + fmt.Sprintf(format, args...) + ";\n" }
	switch {
	case from == to:
		return plain("a")
	case from == Bool && to == F32:
		return plain("f32{a ? 0x3f800000u : 0u}")
	case from == Bool && to == F64:
		return plain("f64{a ? 0x3ff0000000000000ul : 0ul}")
	case from == Bool:
		return plain("a ? (%s)1 : (%s)0", out.Value, out.Value)
	case to == Bool && from.float():
		return plain("(a.bits << 1) != 0")
	case to == Bool:
		return plain("a != 0")
	case to == F64 && from.float():
		return plain("f64{%s}", wide(from))
	case to == F32 && from.float():
		return plain("f32{sf64_to_float_bits(a.bits)}")
	case to.float():
		return plain("%s{%s_from_%s((%s)a)}", out.Value, out.soft, whole(from), whole(from))
	case !from.float():
		return plain("(%s)a", out.Value)
	case to == I64 || to == U64:
		return plain("sf64_to_%s(%s)", whole(to), wide(from))
	}
	low, high := int64(0), int64(1)<<out.bits-1
	if out.Signed {
		low, high = -(int64(1) << (out.bits - 1)), int64(1)<<(out.bits-1)-1
	}
	var b strings.Builder
	fmt.Fprintf(&b, "    long x = sf64_to_long(%s);\n", wide(from))
	fmt.Fprintf(&b, "    return (%s)(x < %dl ? %dl : x > %dl ? %dl : x);\n", out.Value, low, low, high, high)
	return b.String()
}

// castLost is the condition that a value does not survive as r, "" where all do.
func castLost(from, to Type) string {
	in, out := types[from], types[to]
	if from == Bool || to == Bool || from.float() && to.float() {
		return ""
	}
	if from.float() {
		lost := fmt.Sprintf("!sf64_eq(sf64_from_%s((%s)r), %s)", whole(to), whole(to), wide(from))
		switch to { // the largest integer rounds to what is just too large
		case I64:
			lost += " || r == 0x7fffffffffffffffl"
		case U64:
			lost += " || r == ~0ul"
		}
		return lost
	}
	if to.float() {
		bits := 53
		if to == F32 {
			bits = 24
		}
		switch limit := int64(1) << bits; {
		case in.bits <= bits:
			return ""
		case in.Signed:
			return fmt.Sprintf("(long)a < -%dl || (long)a > %dl", limit, limit)
		default:
			return fmt.Sprintf("(ulong)a > %dul", limit)
		}
	}
	same := fmt.Sprintf("(%s)r != a", in.Value)
	switch {
	case in.Signed == out.Signed:
		if out.bits >= in.bits {
			return ""
		}
	case in.Signed:
		return "a < 0 || " + same
	case out.bits > in.bits:
		return ""
	default:
		return "r < 0 || " + same
	}
	return same
}

package msl

import "strings"

// suffix spells the flags and abilities of a key of so many inputs that can have nulls.
func suffix(k Key, inputs int) string {
	var b strings.Builder
	var who string
	all := true
	for i, f := range nullFlags[:inputs] {
		if k.Flags&f != 0 {
			who += variables[i]
		} else {
			all = false
		}
	}
	switch {
	case who == "":
	case all:
		b.WriteString("_nulls")
	default:
		b.WriteString("_" + who + "nulls")
	}
	if k.Flags&EmitNull != 0 {
		b.WriteString("_emit")
	}
	if k.Flags&Pending != 0 {
		b.WriteString("_pending")
	}
	if k.Caps&Float64 != 0 {
		b.WriteString("_native")
	}
	return b.String()
}

// identifier says whether s can be part of a name in C.
func identifier(s string) bool {
	for i := range len(s) {
		if !wordByte(s[i]) {
			return false
		}
	}
	return s != "" && !digit(s[0])
}

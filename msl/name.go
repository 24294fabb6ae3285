package msl

import "strings"

// suffix spells the flags and abilities of a key. both says that two inputs can have nulls.
func suffix(k Key, both bool) string {
	var b strings.Builder
	switch nulls := k.Flags & (ANulls | BNulls); {
	case both && nulls == ANulls:
		b.WriteString("_anulls")
	case both && nulls == BNulls:
		b.WriteString("_bnulls")
	case nulls != 0:
		b.WriteString("_nulls")
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

package main

import "fmt"

// cumulateFamily adds up running sums.
func cumulateFamily() *family {
	fam := &family{
		name: "Cumulate",
		doc: `writes sum plus the rows up to each of n rows, a multiple of 64, and
returns the last. bad gets bits that are set if a sum did not fit. kernel is the
kind, plus kindCount to take rows alone whose bit in valid is set, plus
cumulateStream for stores past the cache; dst then starts at a multiple of 64.`,
		params: []param{
			{"dst", "unsafe.Pointer"}, {"values", "unsafe.Pointer"}, {"valid", "unsafe.Pointer"}, {"n", "int"},
			{"sum", "uint64"}, {"bad", "*uint64"},
		},
		result: true, rows: "n",
	}
	for i, k := range kinds {
		if k.float || k.size < 4 {
			continue
		}
		for _, stream := range []bool{false, true} {
			for _, valid := range []bool{false, true} {
				name, index := "cumulate", fmt.Sprint(i)
				if valid {
					name, index = name+"Valid", "kindCount + "+index
				}
				name += k.name
				if stream {
					name, index = name+"Stream", "cumulateStream + "+index
				}
				fam.kernels = append(fam.kernels, kernel{name: name, indexes: []string{index}, body: func(f *fn) { f.cumulate(k, valid, stream) }})
			}
		}
	}
	return fam
}

// Registers of cumulate.
const (
	sumsBad   = 10
	sumsCarry = 11 // the sum so far in every lane
	sumsLast  = 12 // the number of the last lane in every lane
	sumsZero  = 13
)

func (f *fn) cumulate(k kind, valid, stream bool) {
	f.arg("dst", "DI")
	f.arg("values", "SI")
	f.arg("n", "CX")
	if valid {
		f.arg("valid", "R8")
	}
	f.zero(sumsBad, sumsZero)
	f.spread(uint64(f.bytes/k.size-1), k.size, sumsLast)
	f.ins("VMOVQ sum+32(FP), X%d", sumsCarry)
	f.ins("VPBROADCAST%s X%d, %s", k.letter(), sumsCarry, f.v(sumsCarry))
	store := f.load
	if stream {
		store = "VMOVNTDQ"
	}
	f.loop(func() {
		for v := range 64 * k.size / f.bytes {
			f.cumulateVector(k, valid, v)
			f.ins("%s %s, %d(DI)", store, f.v(1), v*f.bytes)
		}
		f.ins("ADDQ $%d, SI", 64*k.size)
		f.ins("ADDQ $%d, DI", 64*k.size)
		if valid {
			f.ins("ADDQ $8, R8")
		}
	})
	if stream {
		f.ins("SFENCE")
	}
	f.arg("bad", "BX")
	if f.wide() {
		f.ins("VPMOV%s2M Z%d, K1", k.letter(), sumsBad)
		f.ins("KMOVW K1, AX")
	} else {
		f.ins("VMOVMSK%s Y%d, AX", map[int]string{4: "PS", 8: "PD"}[k.size], sumsBad)
	}
	f.ins("MOVQ AX, (BX)")
	f.ins("VMOVQ X%d, AX", sumsCarry)
	f.ret("AX")
	f.end()
}

// cumulateVector leaves the sums of vector v in register 1.
func (f *fn) cumulateVector(k kind, valid bool, v int) {
	add, offset := "VPADD"+k.letter(), v*f.bytes
	switch {
	case valid && f.wide():
		f.rowMask(k.size, v, 1)
		f.ins("VMOVDQU%d.Z %d(SI), K1, Z0", 8*k.size, offset)
	case valid:
		f.rowVector(k.size, v, 5)
		f.ins("VPAND %d(SI), Y5, Y0", offset)
	default:
		f.ins("%s %d(SI), %s", f.load, offset, f.v(0))
	}
	from := 0
	for shift := 1; shift < f.bytes/k.size; shift *= 2 {
		switch {
		case f.wide():
			f.ins("VALIGN%s $%d, Z%d, Z%d, Z2", k.letter(), 64/k.size-shift, sumsZero, from)
		case shift*k.size < 16:
			f.ins("VPSLLDQ $%d, Y%d, Y2", shift*k.size, from)
		default: // the last sum of the lower half, for all of the upper one
			f.ins("VPERM2I128 $0x08, Y%d, Y%d, Y2", from, from)
			f.ins("VPSHUFD $0x%x, Y2, Y2", map[int]int{4: 0xff, 8: 0xee}[k.size])
		}
		f.three(add, 2, from, 1)
		from = 1
	}
	if !f.wide() && k.size == 8 {
		f.ins("VPERMQ $0xff, Y1, Y2")
	} else {
		f.ins("VPERM%s %s, %s, %s", k.letter(), f.v(1), f.v(sumsLast), f.v(2))
	}
	f.three(add, sumsCarry, 1, 1)
	f.three(add, 2, sumsCarry, sumsCarry)
	f.cumulateFits(k)
}

// cumulateFits sets the sign of lanes of bad whose sum, in register 1, is not that of the row, in register 0, and the sum
// before.
func (f *fn) cumulateFits(k kind) {
	f.ins("VPSUB%s %s, %s, %s", k.letter(), f.v(0), f.v(1), f.v(3)) // the sum before
	switch {
	case k.signed:
		f.three(f.xor, 1, 3, 3)
		f.three(f.xor, 1, 0, 4)
		f.three(f.and, 3, 4, 4)
	default: // both have the bit, or one and the sum does not
		f.three(f.and, 3, 0, 4)
		f.three(f.or, 3, 0, 3)
		f.ins("%s %s, %s, %s", f.andNot, f.v(3), f.v(1), f.v(3))
		f.three(f.or, 3, 4, 4)
	}
	f.three(f.or, 4, sumsBad, sumsBad)
}

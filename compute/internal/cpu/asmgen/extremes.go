package main

func extremesFamily() *family {
	fam := &family{
		name: "Extremes",
		doc: `widens the lanes of e by n rows, a multiple of 64, and returns how
many floats among them are not NaN. ` + maskedDoc,
		params: []param{{"values", "unsafe.Pointer"}, {"valid", "unsafe.Pointer"}, {"n", "int"}, {"e", "*lanes"}},
		result: true, rows: "n",
	}
	for i, k := range kinds {
		masked(fam, "extremes", i, k, func(f *fn, valid bool) { f.extremes(k, valid) })
	}
	return fam
}

// Offsets in the lanes of package cpu.
const (
	lanesMin      = 0
	lanesMax      = 64
	lanesNegative = 128
	lanesPositive = 160
)

// extremes keeps two accumulators for minima (0, 1) and for maxima (2, 3).
// AVX2's alone cannot order zeros: there 6 gathers the sign bits of numbers
// and 7 those of their complements.
func (f *fn) extremes(k kind, valid bool) {
	f.arg("values", "SI")
	f.arg("n", "CX")
	f.arg("e", "DI")
	if valid {
		f.arg("valid", "R8")
	}
	biased := !f.wide() && k.size == 8 && !k.signed
	if biased {
		f.spread(1<<63, 8, 15)
	}
	accs := func(do func(reg, offset int)) {
		for i, r := range []int{0, 2} {
			do(r, lanesMax*i)
			if !f.wide() {
				do(r+1, lanesMax*i+32)
			}
		}
		if k.float && !f.wide() {
			do(6, lanesNegative)
			do(7, lanesPositive)
		}
	}
	accs(func(reg, offset int) {
		f.ins("%s %d(DI), %s", f.load, offset, f.v(reg))
		if biased {
			f.ins("VPXOR Y15, Y%d, Y%d", reg, reg)
		}
	})
	if f.wide() {
		f.ins("VMOVDQA64 Z0, Z1")
		f.ins("VMOVDQA64 Z2, Z3")
	}
	if valid && k.float && !f.wide() {
		f.ins("VPCMPEQD Y13, Y13, Y13")
	}
	f.ins("XORQ R12, R12")
	f.loop(func() {
		for v := range 64 * k.size / f.bytes {
			switch {
			case k.float && f.wide():
				f.rangeFloats(k, valid, v)
			case k.float:
				f.minMaxFloats(k, valid, v)
			case f.wide():
				f.minMaxMasked(k, valid, v)
			case k.size == 8:
				f.minMaxBlended(biased, valid, v)
			default:
				f.minMaxInts(k, valid, v)
			}
		}
		f.ins("ADDQ $%d, SI", 64*k.size)
		if valid {
			f.ins("ADDQ $8, R8")
		}
	})
	if f.wide() {
		for i, r := range []int{0, 2} {
			switch {
			case k.float:
				f.ins("VRANGE%s $%d, Z%d, Z%d, Z%d", k.fsuffix(), rangeOps[i], r+1, r, r)
			default:
				f.ins("%s%s Z%d, Z%d, Z%d", minMaxName(k, i), k.letter(), r+1, r, r)
			}
		}
	}
	accs(func(reg, offset int) {
		if biased {
			f.ins("VPXOR Y15, Y%d, Y%d", reg, reg)
		}
		f.ins("%s %s, %d(DI)", f.load, f.v(reg), offset)
	})
	f.ret("R12")
	f.end()
}

// rangeOps are the immediates of VRANGE for the minimum and the maximum in
// total order.
var rangeOps = [2]int{4, 5}

func minMaxName(k kind, i int) string {
	name := [2]string{"VPMIN", "VPMAX"}[i]
	if k.signed {
		return name + "S"
	}
	return name + "U"
}

// countMask adds the bits of mask register 1 to R12.
func (f *fn) countMask(k kind) {
	f.ins("KMOV%s K1, AX", suffix(8/k.size))
	f.ins("POPCNTL AX, AX")
	f.ins("ADDQ AX, R12")
}

func (f *fn) rangeFloats(k kind, valid bool, v int) {
	f.ins("VMOVUPD %d(SI), Z8", 64*v)
	if valid {
		f.rowMask(k.size, v, 2)
		f.ins("VCMP%s $7, Z8, Z8, K2, K1", k.fsuffix())
	} else {
		f.ins("VCMP%s $7, Z8, Z8, K1", k.fsuffix())
	}
	for i, r := range []int{v % 2, 2 + v%2} {
		f.ins("VRANGE%s $%d, Z8, Z%d, K1, Z%d", k.fsuffix(), rangeOps[i], r, r)
	}
	f.countMask(k)
}

// minMaxFloats relies on VMIN and VMAX returning their second source, here the
// accumulator, for NaN; rows that are not valid become NaN.
func (f *fn) minMaxFloats(k kind, valid bool, v int) {
	s := k.fsuffix()
	f.ins("VMOVUPD %d(SI), Y8", 32*v)
	if valid {
		f.rowVector(k.size, v, 9)
		f.ins("VPXOR Y13, Y9, Y9")
		f.ins("VPOR Y9, Y8, Y8")
	}
	f.ins("VMIN%s Y%d, Y8, Y%d", s, v%2, v%2)
	f.ins("VMAX%s Y%d, Y8, Y%d", s, 2+v%2, 2+v%2)
	f.ins("VCMP%s $7, Y8, Y8, Y9", s)
	f.ins("VANDPD Y8, Y9, Y10")
	f.ins("VORPD Y10, Y6, Y6")
	f.ins("VANDNPD Y9, Y8, Y10")
	f.ins("VORPD Y10, Y7, Y7")
	f.ins("VMOVMSK%s Y9, AX", s)
	f.ins("POPCNTL AX, AX")
	f.ins("ADDQ AX, R12")
}

func (f *fn) minMaxMasked(k kind, valid bool, v int) {
	mask := ""
	if valid {
		f.rowMask(k.size, v, 1)
		mask = "K1, "
	}
	for i, r := range []int{v % 2, 2 + v%2} {
		f.ins("%s%s %d(SI), Z%d, %sZ%d", minMaxName(k, i), k.letter(), 64*v, r, mask, r)
	}
}

func (f *fn) minMaxInts(k kind, valid bool, v int) {
	if valid {
		f.rowVector(k.size, v, 9)
		f.ins("VMOVDQU %d(SI), Y8", 32*v)
	}
	for i, r := range []int{v % 2, 2 + v%2} {
		if !valid {
			f.ins("%s%s %d(SI), Y%d, Y%d", minMaxName(k, i), k.letter(), 32*v, r, r)
			continue
		}
		f.ins("VPBLENDVB Y9, Y8, Y%d, Y10", r)
		f.ins("%s%s Y10, Y%d, Y%d", minMaxName(k, i), k.letter(), r, r)
	}
}

// minMaxBlended orders 64-bit integers, for which AVX2 has a signed comparison
// only.
func (f *fn) minMaxBlended(biased, valid bool, v int) {
	f.ins("VMOVDQU %d(SI), Y8", 32*v)
	if biased {
		f.ins("VPXOR Y15, Y8, Y8")
	}
	if valid {
		f.rowVector(8, v, 9)
	}
	for i, r := range []int{v % 2, 2 + v%2} {
		if i == 0 {
			f.ins("VPCMPGTQ Y8, Y%d, Y10", r)
		} else {
			f.ins("VPCMPGTQ Y%d, Y8, Y10", r)
		}
		if valid {
			f.ins("VPAND Y9, Y10, Y10")
		}
		f.ins("VBLENDVPD Y10, Y8, Y%d, Y%d", r, r)
	}
}

package main

import "fmt"

// masked runs f for the kernels without and with validity.
func masked(fam *family, name string, i int, k kind, body func(f *fn, valid bool)) {
	fam.kernels = append(fam.kernels,
		kernel{name: name + k.name, indexes: []string{fmt.Sprint(i)}, body: func(f *fn) { body(f, false) }},
		kernel{name: name + "Valid" + k.name, indexes: []string{fmt.Sprintf("kindCount + %d", i)}, body: func(f *fn) { body(f, true) }})
}

const maskedDoc = `kernel is the kind, plus
kindCount to take the rows alone whose bit in valid is set.`

func sumFamily() *family {
	fam := &family{
		name:   "Sum",
		doc:    "sums n rows, a multiple of 64, of integers. " + maskedDoc,
		params: []param{{"values", "unsafe.Pointer"}, {"valid", "unsafe.Pointer"}, {"n", "int"}},
		result: true, rows: "n",
	}
	for i, k := range kinds {
		if !k.float {
			masked(fam, "sum", i, k, func(f *fn, valid bool) { f.sum(k, valid) })
		}
	}
	return fam
}

func (f *fn) sum(k kind, valid bool) {
	f.arg("values", "SI")
	f.arg("n", "CX")
	if valid {
		f.arg("valid", "R8")
	}
	f.ins("MOVQ CX, BX")
	f.zero(0, 1, 2, 3)
	switch {
	case k.size == 1:
		f.zero(15)
	case k.size == 2:
		f.spread(1, 2, 15)
	}
	if k.biased() {
		f.spread(1<<(8*k.size-1), k.size, 13)
	}
	f.loop(func() {
		for v := range 64 * k.size / f.bytes {
			f.sumVector(k, valid, v)
		}
		f.ins("ADDQ $%d, SI", 64*k.size)
		if valid {
			f.ins("ADDQ $8, R8")
		}
	})
	if k.size == 2 {
		f.reduce("D")
		f.ins("VMOVD X0, AX")
		f.ins("MOVLQSX AX, AX")
	} else {
		f.reduce("Q")
		f.ins("VMOVQ X0, AX")
	}
	// Every row was biased, also those that are not valid.
	if k.biased() {
		f.ins("SHLQ $%d, BX", 8*k.size-1)
		f.ins("%s BX, AX", map[bool]string{true: "SUBQ", false: "ADDQ"}[k.signed])
	}
	f.ret("AX")
	f.end()
}

// biased tells kinds whose sign bits are flipped first: the instructions sum
// unsigned bytes and pairs of signed 16-bit values.
func (k kind) biased() bool { return k.size == 1 && k.signed || k.size == 2 && !k.signed }

// sumVector adds one vector of values to one of the accumulators 0 to 3.
func (f *fn) sumVector(k kind, valid bool, v int) {
	acc, offset := f.v(v%4), v*f.bytes
	value := func() string { // in register 5, zero where not valid
		switch {
		case valid && f.wide():
			f.rowMask(k.size, v, 1)
			f.ins("VMOVDQU%d.Z %d(SI), K1, Z5", 8*k.size, offset)
		case valid:
			f.rowVector(k.size, v, 5)
			f.ins("VPAND %d(SI), Y5, Y5", offset)
		default:
			f.ins("%s %d(SI), %s", f.load, offset, f.v(5))
		}
		return f.v(5)
	}
	extend := "VPMOVZXDQ"
	if k.signed {
		extend = "VPMOVSXDQ"
	}
	switch k.size {
	case 8:
		switch {
		case !valid:
			f.ins("VPADDQ %d(SI), %s, %s", offset, acc, acc)
		case f.wide():
			f.rowMask(8, v, 1)
			f.ins("VPADDQ %d(SI), %s, K1, %s", offset, acc, acc)
		default:
			f.ins("VPADDQ %s, %s, %s", value(), acc, acc)
		}
	case 4:
		half := map[bool]string{true: "Y", false: "X"}[f.wide()]
		for h := range 2 {
			switch {
			case !valid:
				f.ins("%s %d(SI), %s", extend, offset+h*f.bytes/2, f.v(6))
			case f.wide():
				f.rowMask(8, 2*v+h, 1)
				f.ins("%s.Z %d(SI), K1, Z6", extend, offset+32*h)
			case h == 0:
				f.ins("%s X%s, Y6", extend, value()[1:])
			default:
				f.ins("VEXTRACTI128 $1, Y5, %s5", half)
				f.ins("%s %s5, Y6", extend, half)
			}
			f.ins("VPADDQ %s, %s, %s", f.v(6), f.v((2*v+h)%4), f.v((2*v+h)%4))
		}
	case 2:
		r := value()
		if k.biased() {
			f.ins("%s %s, %s, %s", f.xor, f.v(13), r, r)
		}
		f.ins("VPMADDWD %s, %s, %s", f.v(15), r, r)
		f.ins("VPADDD %s, %s, %s", r, acc, acc)
	default:
		r := value()
		if k.biased() {
			f.ins("%s %s, %s, %s", f.xor, f.v(13), r, r)
		}
		f.ins("VPSADBW %s, %s, %s", f.v(15), r, r)
		f.ins("VPADDQ %s, %s, %s", r, acc, acc)
	}
}

// reduce adds the accumulators 0 to 3 and their lanes into the lowest lane.
func (f *fn) reduce(lane string) {
	for _, p := range [][2]int{{1, 0}, {3, 2}, {2, 0}} {
		f.ins("VPADD%s %s, %s, %s", lane, f.v(p[0]), f.v(p[1]), f.v(p[1]))
	}
	f.fold(lane, 0)
}

// fold adds the lanes of a register; it uses the next one.
func (f *fn) fold(lane string, r int) {
	if f.wide() {
		f.ins("VEXTRACTI64X4 $1, Z%d, Y%d", r, r+1)
		f.ins("VPADD%s Y%d, Y%d, Y%d", lane, r+1, r, r)
	}
	f.ins("VEXTRACTI128 $1, Y%d, X%d", r, r+1)
	f.ins("VPADD%s X%d, X%d, X%d", lane, r+1, r, r)
	f.ins("VPSHUFD $0xee, X%d, X%d", r, r+1)
	f.ins("VPADD%s X%d, X%d, X%d", lane, r+1, r, r)
	if lane == "D" {
		f.ins("VPSHUFD $0x55, X%d, X%d", r, r+1)
		f.ins("VPADDD X%d, X%d, X%d", r+1, r, r)
	}
}

func sumWideFamily() *family {
	fam := &family{
		name: "SumWide",
		doc: `sums n rows, a multiple of 64, of 64-bit integers, and their upper
halves into upper. ` + maskedDoc,
		params: []param{{"values", "unsafe.Pointer"}, {"valid", "unsafe.Pointer"}, {"n", "int"}, {"upper", "*uint64"}},
		result: true, rows: "n",
	}
	for i, k := range kinds {
		if !k.float && k.size == 8 {
			masked(fam, "sumWide", i, k, func(f *fn, valid bool) { f.sumWide(k, valid) })
		}
	}
	return fam
}

func (f *fn) sumWide(k kind, valid bool) {
	f.arg("values", "SI")
	f.arg("n", "CX")
	f.arg("upper", "DI")
	if valid {
		f.arg("valid", "R8")
	}
	f.ins("MOVQ CX, BX")
	f.zero(0, 1, 2, 3)
	biased := k.signed && !f.wide() // AVX2 has no arithmetic shift of 64 bits
	if biased {
		f.spread(1<<63, 8, 13)
	}
	f.loop(func() {
		for v := range 512 / f.bytes {
			value, low, high := f.v(5+v%2), f.v(v%2), f.v(2+v%2)
			switch {
			case valid && f.wide():
				f.rowMask(8, v, 1)
				f.ins("VMOVDQU64.Z %d(SI), K1, %s", v*64, value)
			case valid:
				f.rowVector(8, v, 5+v%2)
				f.ins("VPAND %d(SI), %s, %s", v*32, value, value)
			default:
				f.ins("%s %d(SI), %s", f.load, v*f.bytes, value)
			}
			f.ins("VPADDQ %s, %s, %s", value, low, low)
			switch {
			case biased:
				f.ins("VPXOR Y13, %s, %s", value, value)
				f.ins("VPSRLQ $32, %s, %s", value, value)
			case k.signed:
				f.ins("VPSRAQ $32, %s, %s", value, value)
			default:
				f.ins("VPSRLQ $32, %s, %s", value, value)
			}
			f.ins("VPADDQ %s, %s, %s", value, high, high)
		}
		f.ins("ADDQ $512, SI")
		if valid {
			f.ins("ADDQ $8, R8")
		}
	})
	f.ins("VPADDQ %s, %s, %s", f.v(1), f.v(0), f.v(0))
	f.ins("VPADDQ %s, %s, %s", f.v(3), f.v(2), f.v(2))
	f.fold("Q", 0)
	f.fold("Q", 2)
	f.ins("VMOVQ X0, AX")
	f.ins("VMOVQ X2, DX")
	if biased {
		f.ins("SHLQ $31, BX")
		f.ins("SUBQ BX, DX")
	}
	f.ins("MOVQ DX, (DI)")
	f.ret("AX")
	f.end()
}

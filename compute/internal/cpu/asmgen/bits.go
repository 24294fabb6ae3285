package main

import "fmt"

// bitsOps are the functions of whole bitmaps, in the order of bitAnd and so on in package
// cpu; the instructions are those of vectors.
var bitsOps = []struct {
	name  string
	unary bool
	do    func(f *fn, a, b string)
}{
	{"And", false, func(f *fn, a, b string) { f.ins("%s %s, %s, %s", f.and, b, a, a) }},
	{"Or", false, func(f *fn, a, b string) { f.ins("%s %s, %s, %s", f.or, b, a, a) }},
	{"Xor", false, func(f *fn, a, b string) { f.ins("%s %s, %s, %s", f.xor, b, a, a) }},
	{"AndNot", false, func(f *fn, a, b string) { f.ins("%s %s, %s, %s", f.andNot, a, b, a) }},
	{"Not", true, func(f *fn, a, _ string) { f.ins("%s %s, %s, %s", f.xor, f.v(15), a, a) }},
	{"Copy", true, func(*fn, string, string) {}},
}

func bitsFamily() *family {
	fam := &family{
		name: "Bits",
		doc: `computes n bytes, a multiple of 64, of a function of two bitmaps
that start at bits shiftA and shiftB of their first bytes. kernel is one of
bitAnd and so on,
plus bitOps when a shift is not zero: then a byte more of both is read.`,
		params: []param{
			{"dst", "unsafe.Pointer"}, {"a", "unsafe.Pointer"}, {"b", "unsafe.Pointer"}, {"n", "int"},
			{"shiftA", "int"}, {"shiftB", "int"},
		},
		rows: "n",
	}
	for i, op := range bitsOps {
		for s, shift := range []bool{false, true} {
			index := fmt.Sprint(i)
			if s > 0 {
				index = fmt.Sprintf("bitOps + %d", i)
			}
			name := "bits" + op.name
			if shift {
				name += "Shifted"
			}
			fam.kernels = append(fam.kernels, kernel{name: name, indexes: []string{index}, body: func(f *fn) {
				f.arg("dst", "DI")
				f.arg("a", "SI")
				f.arg("n", "CX")
				if op.name == "Not" {
					f.spread(1<<64-1, 8, 15)
				}
				if shift {
					f.shifts("shiftA", 8)
				}
				if !op.unary {
					f.arg("b", "BX")
					if shift {
						f.shifts("shiftB", 10)
					}
				}
				f.loop(func() {
					for v := range 64 / f.bytes {
						a, b := f.v(2*v), f.v(2*v+1)
						f.loadBits("SI", v*f.bytes, shift, 8, 2*v)
						if !op.unary {
							f.loadBits("BX", v*f.bytes, shift, 10, 2*v+1)
						}
						op.do(f, a, b)
						f.ins("%s %s, %d(DI)", f.load, a, v*f.bytes)
					}
					f.ins("ADDQ $64, SI")
					if !op.unary {
						f.ins("ADDQ $64, BX")
					}
					f.ins("ADDQ $64, DI")
				})
				f.end()
			}})
		}
	}
	return fam
}

// shifts puts a shift and what it lacks to a byte into X registers.
func (f *fn) shifts(name string, reg int) {
	f.arg(name, "AX")
	f.ins("VMOVQ AX, X%d", reg)
	f.ins("NEGQ AX")
	f.ins("ADDQ $8, AX")
	f.ins("VMOVQ AX, X%d", reg+1)
}

// loadBits loads a vector of bits. The bits that a shift of 64-bit lanes
// misses come from a load one byte further on. It uses register 7.
func (f *fn) loadBits(base string, offset int, shift bool, count, reg int) {
	f.ins("%s %d(%s), %s", f.load, offset, base, f.v(reg))
	if !shift {
		return
	}
	f.ins("%s %d(%s), %s", f.load, offset+1, base, f.v(7))
	f.ins("VPSRLQ X%d, %s, %s", count, f.v(reg), f.v(reg))
	f.ins("VPSLLQ X%d, %s, %s", count+1, f.v(7), f.v(7))
	f.ins("%s %s, %s, %s", f.or, f.v(7), f.v(reg), f.v(reg))
}

func countFamily() *family {
	return &family{
		name:   "Count",
		doc:    "counts the bits in n bytes, a multiple of 64. kernel is 0.",
		params: []param{{"data", "unsafe.Pointer"}, {"n", "int"}},
		result: true, rows: "n",
		kernels: []kernel{{name: "countBits", indexes: []string{"0"}, scalar: true, body: func(f *fn) {
			f.arg("data", "SI")
			f.arg("n", "CX")
			accs := []string{"AX", "BX", "R8", "R9"}
			for _, r := range accs {
				f.ins("XORQ %s, %s", r, r)
			}
			f.loop(func() {
				for i := range 8 {
					f.ins("POPCNTQ %d(SI), R10", 8*i)
					f.ins("ADDQ R10, %s", accs[i%4])
				}
				f.ins("ADDQ $64, SI")
			})
			for _, r := range accs[1:] {
				f.ins("ADDQ %s, AX", r)
			}
			f.ret("AX")
			f.ins("RET")
		}}},
	}
}

package main

import "fmt"

// castOp is a cast between two types of 32 or 64 bits. The source lies in
// register 0 and the result in 2; where they differ in size the smaller one
// is half a register. Registers from 10 on hold constants. What does not fit
// shows in register 8, of which lanes have bits of the mask in register 10
// set, and in register 9 or mask K7, where lanes are marked.
type castOp struct {
	from, to kind
	check    bool
	by       *castForm
}

// castForm is how a cast is done in an instruction set.
type castForm struct {
	setup, do    func(f *fn, op castOp)
	range8       bool // register 8 is used
	marks        bool // register 9 or K7 is
	bias, mask   uint64
	maskSize     int
	wideElements bool // as if one side had 64 bits
}

func castFamily() *family {
	fam := &family{
		name: "Cast",
		doc: `converts n rows, a multiple of 64, and returns zero if the result is sure
to be right. kernel is the kind of src times kindCount plus that of dst, plus
castChecked if what does not survive counts as wrong, plus castStream for
stores past the cache; dst then starts at a multiple of 64.`,
		params: []param{{"dst", "unsafe.Pointer"}, {"src", "unsafe.Pointer"}, {"n", "int"}},
		result: true, rows: "n",
	}
	for i, from := range kinds {
		for j, to := range kinds {
			if i == j || from.size < 4 || to.size < 4 {
				continue
			}
			for _, check := range []bool{false, true} {
				if check && !canFail(from, to) || !check && isInt(from) && isInt(to) && from.size == to.size {
					continue // nothing to check, or to do
				}
				for _, stream := range []bool{false, true} {
					name, index := "cast"+from.name+to.name, fmt.Sprintf("%d*kindCount + %d", i, j)
					if check {
						name, index = name+"Checked", "castChecked + "+index
					}
					if stream {
						name, index = name+"Stream", "castStream + "+index
					}
					op := castOp{from: from, to: to, check: check}
					fam.kernels = append(fam.kernels, kernel{
						name: name, indexes: []string{index}, body: func(f *fn) { f.cast(op, stream) },
					})
				}
			}
		}
	}
	return fam
}

// canFail tells whether a value can be lost.
func canFail(from, to kind) bool {
	switch {
	case from.float:
		return !to.float
	case to.float:
		return from.size == 8 || to.size == 4
	case from.signed:
		return !to.signed || to.size < from.size
	}
	return to.size < from.size || to.size == from.size && to.signed
}

func (f *fn) cast(op castOp, stream bool) {
	op.by = f.castForm(op)
	wide := max(op.from.size, op.to.size)
	if op.by.wideElements {
		wide = 8
	}
	elements := f.bytes / wide
	f.arg("dst", "DI")
	f.arg("src", "SI")
	f.arg("n", "CX")
	if op.by.range8 {
		f.zero(8)
		f.spread(op.by.mask, op.by.maskSize, 10)
		if op.by.bias != 0 {
			f.spread(op.by.bias, op.by.maskSize, 14)
		}
	}
	if op.by.marks {
		f.clearMarks()
	}
	if op.by.setup != nil {
		op.by.setup(f, op)
	}
	f.loop(func() {
		for v := range 64 / elements {
			f.castLoad(op, v*elements*op.from.size, elements)
			op.by.do(f, op)
			f.castStore(op, v*elements*op.to.size, elements, stream)
		}
		f.ins("ADDQ $%d, SI", 64*op.from.size)
		f.ins("ADDQ $%d, DI", 64*op.to.size)
	})
	if stream {
		f.ins("SFENCE")
	}
	f.castVerdict(op)
	f.ret("AX")
	f.end()
}

// part names a vector register of so many bytes, all of it or half.
func (f *fn) part(bytes, i int) string {
	if bytes == f.bytes {
		return f.v(i)
	}
	return fmt.Sprintf("%s%d", map[int]string{16: "X", 32: "Y"}[bytes], i)
}

// castLoad loads the source, already extended where there are instructions
// that load and extend.
func (f *fn) castLoad(op castOp, offset, elements int) {
	wide := elements == f.bytes/8
	switch {
	case wide && op.from.size == 4 && isInt(op.from) && isInt(op.to):
		extend := "VPMOVSXDQ"
		if !op.from.signed {
			extend = "VPMOVZXDQ"
		}
		f.ins("%s %d(SI), %s", extend, offset, f.v(0))
	case wide && op.from.size == 4 && op.from.float && (op.to.float || !f.wide()):
		f.ins("VCVTPS2PD %d(SI), %s", offset, f.v(0))
	case elements*op.from.size == f.bytes:
		f.ins("%s %d(SI), %s", f.load, offset, f.v(0))
	default:
		f.ins("VMOVDQU %d(SI), %s", offset, f.part(elements*op.from.size, 0))
	}
}

func (f *fn) castStore(op castOp, offset, elements int, stream bool) {
	store, reg := "VMOVDQU", f.part(elements*op.to.size, 2)
	if reg == f.v(2) {
		store = f.load
	}
	if stream {
		store = "VMOVNTDQ"
	}
	f.ins("%s %s, %d(DI)", store, reg, offset)
}

func (f *fn) clearMarks() {
	if f.wide() {
		f.ins("KXORW K7, K7, K7")
		return
	}
	f.zero(9)
}

// castVerdict makes AX not zero if anything is amiss.
func (f *fn) castVerdict(op castOp) {
	f.ins("XORL AX, AX")
	if op.by.range8 {
		if f.wide() {
			f.ins("VPTESTMQ Z10, Z8, K1")
			f.ins("KMOVB K1, AX")
		} else {
			f.ins("VPTEST Y8, Y10")
			f.ins("SETNE AX")
		}
	}
	if op.by.marks {
		if f.wide() {
			f.ins("KMOVW K7, BX")
		} else {
			f.ins("VMOVMSKPS Y9, BX")
		}
		f.ins("ORQ BX, AX")
	}
}

// inRange adds the lanes of a register to what must not have bits of the mask.
func (f *fn) inRange(op castOp, reg int) {
	if !op.by.range8 {
		return
	}
	if op.by.bias != 0 {
		f.three("VPADD"+suffix(op.by.maskSize), 14, reg, 7)
		reg = 7
	}
	f.three(f.or, reg, 8, 8)
}

// castForm chooses how a cast is done.
func (f *fn) castForm(op castOp) *castForm {
	switch {
	case isInt(op.from) && isInt(op.to):
		return f.integerForm(op)
	case isInt(op.from):
		return f.floatForm(op)
	case isInt(op.to):
		return f.truncateForm(op)
	}
	return &castForm{do: func(f *fn, op castOp) {
		if op.to.size == 4 {
			f.halve(0, 2)
			return
		}
		f.ins("%s %s, %s", f.load, f.v(0), f.v(2)) // converted when loaded
	}}
}

// halve rounds doubles to floats.
func (f *fn) halve(from, to int) {
	if f.wide() {
		f.ins("VCVTPD2PS Z%d, Y%d", from, to)
		return
	}
	f.ins("VCVTPD2PSY Y%d, X%d", from, to)
}

// integerForm keeps the low bits. A value plus the bias that has bits of the
// mask did not fit.
func (f *fn) integerForm(op castOp) *castForm {
	form := &castForm{range8: op.check, maskSize: op.from.size}
	bits := uint(8 * op.to.size)
	switch {
	case !op.check:
	case op.from.size < op.to.size: // negative, and extended by now
		form.mask, form.maskSize = 1<<63, 8
	case op.from.size == op.to.size:
		form.mask = 1 << (bits - 1)
	case op.from.signed && op.to.signed:
		form.bias, form.mask = 1<<(bits-1), ^uint64(1<<bits-1)
	case op.to.signed:
		form.mask = ^uint64(1<<(bits-1) - 1)
	default:
		form.mask = ^uint64(1<<bits - 1)
	}
	form.do = func(f *fn, op castOp) {
		f.inRange(op, 0)
		switch {
		case op.from.size <= op.to.size:
			f.ins("%s %s, %s", f.load, f.v(0), f.v(2))
		case f.wide():
			f.ins("VPMOVQD Z0, Y2")
		default:
			f.ins("VPSHUFD $0x08, Y0, Y2")
			f.ins("VPERMQ $0x08, Y2, Y2")
		}
	}
	return form
}

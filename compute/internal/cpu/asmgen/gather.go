package main

import "fmt"

// ahead is how many rows before it is read a row of src is asked for.
const ahead = 32

// gatherFamily reads rows at random. Vectors would not help: the gather
// instructions of today do the same loads one by one, slower.
func gatherFamily() *family {
	fam := &family{
		name: "Gather",
		doc: `copies row index[i] of src to row i of dst for n rows, a multiple
of 64, until an index of the next eight is not below limit. It returns the
rows done. kernel is the logarithm of the size of a row.`,
		params: []param{
			{"dst", "unsafe.Pointer"}, {"src", "unsafe.Pointer"}, {"index", "unsafe.Pointer"}, {"n", "int"}, {"limit", "int"},
		},
		result: true, rows: "n",
	}
	for i, size := range []int{1, 2, 4, 8, 16, 32} {
		fam.kernels = append(fam.kernels, kernel{
			name: fmt.Sprintf("gather%d", 8*size), indexes: []string{fmt.Sprint(i)}, scalar: true,
			body: func(f *fn) { f.gather(size) },
		})
	}
	return fam
}

func (f *fn) gather(size int) {
	f.arg("dst", "DI")
	f.arg("src", "SI")
	f.arg("index", "R8")
	f.arg("n", "CX")
	f.arg("limit", "R9")
	f.ins("MOVQ CX, R11")
	f.ins("SUBQ $%d, CX", ahead)
	f.label("loop")
	f.gatherEight(size, true)
	f.ins("SUBQ $8, CX")
	f.ins("JNZ loop")
	f.ins("MOVQ $%d, CX", ahead)
	f.label("last")
	f.gatherEight(size, false)
	f.ins("SUBQ $8, CX")
	f.ins("JNZ last")
	f.ins("XORQ R12, R12")
	f.ins("JMP done")
	// What is left when an index is out of range.
	f.label("early")
	f.ins("ADDQ $%d, CX", ahead)
	f.label("late")
	f.ins("MOVQ CX, R12")
	f.label("done")
	f.ins("SUBQ R12, R11")
	f.ret("R11")
	if size == 32 {
		f.ins("VZEROUPPER")
	}
	f.ins("RET")
}

// gatherEight does eight rows, and asks for eight that come later.
func (f *fn) gatherEight(size int, ask bool) {
	out := "late"
	if ask {
		out = "early"
	}
	// The indexes are checked before any row is written, so that what is left
	// is a multiple of eight.
	for i := range 8 {
		at := gatherIndex[i%4]
		f.ins("MOVQ %d(R8), %s", 8*i, at)
		f.ins("CMPQ %s, R9", at)
		f.ins("JCC %s", out)
	}
	for i := range 8 {
		if ask {
			f.ins("MOVQ %d(R8), BX", 8*(ahead+i))
			f.scaled(size, "BX")
			f.ins("PREFETCHT0 (SI)(BX*%d)", min(size, 8))
		}
		at := gatherIndex[i%4]
		f.ins("MOVQ %d(R8), %s", 8*i, at)
		f.scaled(size, at)
		from := fmt.Sprintf("(SI)(%s*%d)", at, min(size, 8))
		switch size {
		case 1:
			f.ins("MOVBLZX %s, %s", from, at)
			f.ins("MOVB %s, %d(DI)", at, size*i)
		case 2:
			f.ins("MOVWLZX %s, %s", from, at)
			f.ins("MOVW %s, %d(DI)", at, size*i)
		case 4:
			f.ins("MOVL %s, %s", from, at)
			f.ins("MOVL %s, %d(DI)", at, size*i)
		case 8:
			f.ins("MOVQ %s, %s", from, at)
			f.ins("MOVQ %s, %d(DI)", at, size*i)
		case 16:
			f.ins("VMOVDQU %s, X%d", from, i)
			f.ins("VMOVDQU X%d, %d(DI)", i, size*i)
		default:
			f.ins("VMOVDQU %s, Y%d", from, i)
			f.ins("VMOVDQU Y%d, %d(DI)", i, size*i)
		}
	}
	f.ins("ADDQ $64, R8")
	f.ins("ADDQ $%d, DI", 8*size)
}

// gatherIndex are registers for indexes.
var gatherIndex = []string{"AX", "DX", "R10", "R13"}

// scaled turns an index into what an address can multiply by eight.
func (f *fn) scaled(size int, reg string) {
	for ; size > 8; size /= 2 {
		f.ins("ADDQ %s, %s", reg, reg)
	}
}

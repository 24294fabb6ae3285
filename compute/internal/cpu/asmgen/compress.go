package main

import (
	"fmt"
	"math/bits"
)

func compressFamily() *family {
	fam := &family{
		name: "Compress",
		doc: `copies the rows of src, n of them, a multiple of 64, whose bit in
keep is set to dst, until fewer than 64 of the room rows of dst are left. It
returns the rows of src done, times 2^32, plus the rows copied. kernel is the
logarithm of the size of a row.`,
		params: []param{
			{"dst", "unsafe.Pointer"}, {"src", "unsafe.Pointer"}, {"keep", "unsafe.Pointer"}, {"n", "int"}, {"room", "int"},
		},
		result: true, rows: "n",
	}
	for i, size := range []int{1, 2, 4, 8} {
		fam.kernels = append(fam.kernels, kernel{
			name: fmt.Sprintf("compress%d", 8*size), indexes: []string{fmt.Sprint(i)},
			body: func(f *fn) { f.compress(size) },
		})
	}
	return fam
}

func (f *fn) compress(size int) {
	f.arg("dst", "DI")
	f.arg("src", "SI")
	f.arg("keep", "R8")
	f.arg("n", "CX")
	f.arg("room", "R9")
	f.ins("MOVQ CX, R11")
	f.ins("MOVQ DI, R12")
	// The last place at which 64 rows still fit.
	if size > 1 {
		f.ins("SHLQ $%d, R9", bits.TrailingZeros(uint(size)))
	}
	f.ins("LEAQ -%d(DI)(R9*1), R9", 64*size)
	if !f.wide() {
		switch size {
		case 2:
			f.spread(0x0202, 2, 14)
			f.spread(0x0100, 2, 15)
			f.ins("LEAQ order8<>(SB), R10")
		case 8:
			f.ins("LEAQ order4<>(SB), R10")
		default:
			f.ins("LEAQ order8<>(SB), R10")
		}
	}
	f.label("loop")
	f.ins("CMPQ DI, R9")
	f.ins("JGT done")
	f.ins("MOVQ (R8), AX")
	f.ins("TESTQ AX, AX")
	f.ins("JEQ next")
	if size >= 4 {
		f.ins("POPCNTQ AX, DX")
		f.ins("CMPQ DX, $%d", sparse)
		f.ins("JLS sparse")
	}
	for v := range f.compressSteps(size) {
		if f.wide() {
			f.compressMasked(size, v)
		} else {
			f.compressShuffled(size, v)
		}
	}
	f.label("next")
	f.ins("ADDQ $%d, SI", 64*size)
	f.ins("ADDQ $8, R8")
	f.ins("SUBQ $64, CX")
	f.ins("JNZ loop")
	f.ins("JMP done")
	if size >= 4 {
		f.compressRows(size)
	}
	f.label("done")
	f.ins("SUBQ R12, DI")
	if size > 1 {
		f.ins("SHRQ $%d, DI", bits.TrailingZeros(uint(size)))
	}
	f.ins("SUBQ CX, R11")
	f.ins("SHLQ $32, R11")
	f.ins("ORQ R11, DI")
	f.ret("DI")
	f.end()
}

// sparse is the number of rows among 64 that are faster copied one by one.
const sparse = 4

// compressRows copies the rows in AX, at least one.
func (f *fn) compressRows(size int) {
	move := map[int]string{4: "MOVL", 8: "MOVQ"}[size]
	f.label("sparse")
	f.ins("TZCNTQ AX, DX")
	f.ins("%s (SI)(DX*%d), BX", move, size)
	f.ins("%s BX, (DI)", move)
	f.ins("ADDQ $%d, DI", size)
	f.ins("BLSRQ AX, AX")
	f.ins("JNZ sparse")
	f.ins("JMP next")
}

// compressSteps is the number of vectors or groups in 64 rows.
func (f *fn) compressSteps(size int) int {
	switch {
	case f.wide():
		return size
	case size == 8:
		return 16
	}
	return 8
}

func (f *fn) compressMasked(size, v int) {
	z := v % 8
	f.ins("PREFETCHT0 %d(SI)", 64*v+8192)
	f.rowMask(size, v, 1+v%4)
	f.ins("VMOVDQU64 %d(SI), Z%d", 64*v, z)
	f.ins("VPCOMPRESS%s Z%d, K%d, Z%d", suffix(size), z, 1+v%4, z)
	f.ins("VMOVDQU64 Z%d, (DI)", z)
	switch size {
	case 8:
		f.ins("MOVBLZX %d(R8), DX", v)
		f.ins("POPCNTL DX, DX")
	case 4:
		f.ins("MOVWLZX %d(R8), DX", 2*v)
		f.ins("POPCNTL DX, DX")
	case 2:
		f.ins("POPCNTL %d(R8), DX", 4*v)
	default:
		f.ins("POPCNTQ (R8), DX")
	}
	f.ins("LEAQ (DI)(DX*%d), DI", size)
}

// compressShuffled moves a group of eight rows, or four of eight bytes, with
// an order from a table.
func (f *fn) compressShuffled(size, v int) {
	y := v % 4
	if size == 8 {
		f.ins("MOVBLZX %d(R8), DX", v/2)
		if v%2 == 0 {
			f.ins("ANDL $15, DX")
		} else {
			f.ins("SHRL $4, DX")
		}
	} else {
		f.ins("MOVBLZX %d(R8), DX", v)
	}
	switch size {
	case 1:
		f.ins("VMOVQ %d(SI), X%d", 8*v, y)
		f.ins("VMOVQ (R10)(DX*8), X%d", 4+y)
		f.ins("VPSHUFB X%d, X%d, X%d", 4+y, y, y)
		f.ins("VMOVQ X%d, (DI)", y)
	case 2:
		f.ins("VPMOVZXBW (R10)(DX*8), X%d", 4+y)
		f.ins("VPMULLW X14, X%d, X%d", 4+y, 4+y)
		f.ins("VPADDW X15, X%d, X%d", 4+y, 4+y)
		f.ins("VMOVDQU %d(SI), X%d", 16*v, y)
		f.ins("VPSHUFB X%d, X%d, X%d", 4+y, y, y)
		f.ins("VMOVDQU X%d, (DI)", y)
	default:
		f.ins("VPMOVZXBD (R10)(DX*8), Y%d", 4+y)
		f.ins("VPERMD %d(SI), Y%d, Y%d", 32*v, 4+y, y)
		f.ins("VMOVDQU Y%d, (DI)", y)
	}
	f.ins("POPCNTL DX, DX")
	f.ins("LEAQ (DI)(DX*%d), DI", size)
}

// orders returns, for every set of eight rows, their numbers as bytes, and for
// every set of four rows those of their halves.
func orders() (eight, four []uint64) {
	for set := range 256 {
		var w uint64
		at := 0
		for i := range 8 {
			if set>>i&1 != 0 {
				w |= uint64(i) << (8 * at)
				at++
			}
		}
		eight = append(eight, w)
	}
	for set := range 16 {
		var w uint64
		at := 0
		for i := range 4 {
			if set>>i&1 != 0 {
				w |= uint64(2*i) << (16 * at)
				w |= uint64(2*i+1) << (16*at + 8)
				at++
			}
		}
		four = append(four, w)
	}
	return eight, four
}

// compactFamily appends the selected bits of every word.
func compactFamily() *family {
	return &family{
		name: "Compact",
		doc: `appends the bits of src that keep selects to dst, of whose first
word the low held bits, 63 at most, are there already; n counts bits of src, a
multiple of 64. A word more of dst than is filled may be written. kernel is 0.`,
		params: []param{
			{"dst", "unsafe.Pointer"}, {"src", "unsafe.Pointer"}, {"keep", "unsafe.Pointer"}, {"n", "int"}, {"held", "int"},
		},
		rows: "n",
		kernels: []kernel{{name: "compactBits", indexes: []string{"0"}, scalar: true, body: func(f *fn) {
			f.arg("dst", "DI")
			f.arg("src", "SI")
			f.arg("keep", "R8")
			f.arg("n", "CX")
			f.arg("held", "R9")
			f.ins("MOVQ (DI), BX")
			f.ins("BZHIQ R9, BX, BX")
			f.loop(func() {
				f.ins("MOVQ (R8), DX")
				f.ins("MOVQ (SI), AX")
				f.ins("PEXTQ DX, AX, AX")
				f.ins("POPCNTQ DX, DX")
				f.ins("SHLXQ R9, AX, R10")
				f.ins("ORQ R10, BX")
				f.ins("MOVQ BX, (DI)")
				// What did not fit: a shift by 64 would be one by 0.
				f.ins("MOVQ R9, R11")
				f.ins("XORQ $63, R11")
				f.ins("SHRQ $1, AX")
				f.ins("SHRXQ R11, AX, AX")
				f.ins("ADDQ DX, R9")
				f.ins("LEAQ 8(DI), R12")
				f.ins("CMPQ R9, $64")
				f.ins("CMOVQGE AX, BX")
				f.ins("CMOVQGE R12, DI")
				f.ins("ANDQ $63, R9")
				f.ins("ADDQ $8, SI")
				f.ins("ADDQ $8, R8")
			})
			f.ins("MOVQ BX, (DI)")
			f.ins("RET")
		}}},
	}
}

// streamFamily copies past the caches.
func streamFamily() *family {
	return &family{
		name: "Stream",
		doc: `copies n bytes, a multiple of 64, past the caches; dst starts at a
multiple of 64. kernel is 0.`,
		params: []param{{"dst", "unsafe.Pointer"}, {"src", "unsafe.Pointer"}, {"n", "int"}},
		rows:   "n",
		kernels: []kernel{{name: "streamBytes", indexes: []string{"0"}, body: func(f *fn) {
			f.arg("dst", "DI")
			f.arg("src", "SI")
			f.arg("n", "CX")
			f.loop(func() {
				for at := 0; at < 64; at += f.bytes {
					f.ins("%s %d(SI), %s", f.load, at, f.v(at/f.bytes))
					f.ins("VMOVNTDQ %s, %d(DI)", f.v(at/f.bytes), at)
				}
				f.ins("ADDQ $64, SI")
				f.ins("ADDQ $64, DI")
			})
			f.ins("SFENCE")
			f.end()
		}}},
	}
}

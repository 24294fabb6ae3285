package main

import (
	"bytes"
	"fmt"
)

// neon writes the instructions on vectors of two doubles that Go's assembler
// has no names for: operation, second source, first source, destination.
type neon struct{ bytes.Buffer }

const (
	fadd   = 0x4e60d400
	fsub   = 0x4ee0d400
	fmax   = 0x4e60f400 // NaN if either is
	fminnm = 0x4ee0c400 // the other if one is NaN
	fabs   = 0x4ee0f800
	fcvtl  = 0x0e617800 // from the lower half, of float32
	fcvtl2 = 0x4e617800 // from the upper half
)

var neonNames = map[int]string{
	fadd: "FADD", fsub: "FSUB", fmax: "FMAX", fminnm: "FMINNM", fabs: "FABS", fcvtl: "FCVTL", fcvtl2: "FCVTL2",
}

func (b *neon) three(op, second, first, dst int) {
	fmt.Fprintf(b, "\tWORD $0x%08x // %s V%d, V%d, V%d\n", op|second<<16|first<<5|dst, neonNames[op], second, first, dst)
}

func (b *neon) two(op, src, dst int) {
	fmt.Fprintf(b, "\tWORD $0x%08x // %s V%d, V%d\n", op|src<<5|dst, neonNames[op], src, dst)
}

func (b *neon) ins(format string, args ...any) { fmt.Fprintf(b, "\t"+format+"\n", args...) }

// split is the dense form of exact for arm64: high sums in 0 to 3, low ones in
// 4 to 7, the largest magnitudes in 24 and 25, the smallest in 26 and 27. NaN
// stays in the largest, and leaves the smallest alone, as zero less one is NaN.
func (b *neon) split(name string, size int) {
	fmt.Fprintf(b, "\n// func %s(values unsafe.Pointer, n int, start uint64, out *exactSplit)\n", name)
	fmt.Fprintf(b, "TEXT ·%s(SB), NOSPLIT, $0-32\n", name)
	b.ins("MOVD values+0(FP), R0")
	b.ins("MOVD n+8(FP), R1")
	b.ins("MOVD start+16(FP), R2")
	b.ins("MOVD out+24(FP), R3")
	for i := range 4 {
		b.ins("VDUP R2, V%d.D2", i)
		b.ins("VEOR V%d.B16, V%d.B16, V%d.B16", 4+i, 4+i, 4+i)
	}
	b.ins("VDUP R2, V28.D2")
	b.ins("MOVD $-1, R4")
	b.ins("VDUP R4, V29.D2")
	b.ins("MOVD $0x7ff0000000000000, R4")
	for i := range 2 {
		b.ins("VEOR V%d.B16, V%d.B16, V%d.B16", 24+i, 24+i, 24+i)
		b.ins("VDUP R4, V%d.D2", 26+i)
	}
	b.WriteString("loop:\n") // eight rows
	if size == 8 {
		b.ins("VLD1.P 64(R0), [V16.D2, V17.D2, V18.D2, V19.D2]")
	} else {
		b.ins("VLD1.P 32(R0), [V20.S4, V21.S4]")
		for i := range 2 {
			b.two(fcvtl, 20+i, 16+2*i)
			b.two(fcvtl2, 20+i, 17+2*i)
		}
	}
	for i := range 4 {
		x, t := 16+i, 20+i
		b.three(fadd, x, i, t)
		b.three(fsub, i, t, 30)
		b.ins("VMOV V%d.B16, V%d.B16", t, i)
		b.three(fsub, 30, x, 30)
		b.three(fadd, 30, 4+i, 4+i)
		b.two(fabs, x, x)
		b.three(fmax, x, 24+i%2, 24+i%2)
		b.ins("VADD V29.D2, V%d.D2, V%d.D2", x, x)
		b.three(fminnm, x, 26+i%2, 26+i%2)
	}
	b.ins("SUBS $8, R1, R1")
	b.ins("BNE loop")
	for i := range 4 {
		b.three(fsub, 28, i, i)
	}
	for _, p := range [][2]int{{1, 0}, {3, 2}, {2, 0}, {5, 4}, {7, 6}, {6, 4}} {
		b.three(fadd, p[0], p[1], p[1])
	}
	b.three(fmax, 25, 24, 24)
	b.three(fminnm, 27, 26, 26)
	for i, p := range []struct{ op, reg int }{{fadd, 0}, {fadd, 4}, {fmax, 24}, {fminnm, 26}} {
		b.ins("VDUP V%d.D[1], V30.D2", p.reg)
		b.three(p.op, 30, p.reg, p.reg)
		b.ins("VMOV V%d.D[0], R4", p.reg)
		b.ins("MOVD R4, %d(R3)", 8*i)
	}
	b.ins("RET")
}

// neonFiles returns the files for arm64.
func neonFiles() map[string][]byte {
	var b neon
	b.WriteString(generated + constraint + "#include \"textflag.h\"\n")
	b.split("splitF32", 4)
	b.split("splitF64", 8)
	calls := generated + constraint + `package cpu

import "unsafe"

//go:noescape
func splitF32(values unsafe.Pointer, n int, start uint64, out *exactSplit)

//go:noescape
func splitF64(values unsafe.Pointer, n int, start uint64, out *exactSplit)

// callSplit splits n rows, a multiple of 64, of values of size bytes.
//
//go:noinline
func callSplit(size int, values unsafe.Pointer, n int, start uint64, out *exactSplit) {
	checkRows(n)
	if size == 4 {
		splitF32(values, n, start, out)
		return
	}
	splitF64(values, n, start, out)
}
`
	return map[string][]byte{"neon_arm64.s": b.Bytes(), "calls_arm64.go": []byte(calls)}
}

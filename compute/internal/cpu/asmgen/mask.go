package main

import (
	"bytes"
	"fmt"
)

// The masked kernels take the validity of 64 rows at R8, one bit a row.

// rowMask loads the mask of vector v, of lanes of the given size, into
// K register reg.
func (f *fn) rowMask(size, v, reg int) {
	bytes := 8 / size
	f.ins("KMOV%s %d(R8), K%d", suffix(bytes), bytes*v, reg)
}

// rowVector does the same with all bits of a lane in vector register reg; it
// uses Y14.
func (f *fn) rowVector(size, v, reg int) {
	switch size {
	case 8:
		if v == 0 {
			f.ins("VPBROADCASTQ (R8), Y14")
		}
		f.ins("VPAND bitsQ<>+%d(SB), Y14, Y%d", 32*v, reg)
		f.ins("VPCMPEQQ bitsQ<>+%d(SB), Y%d, Y%d", 32*v, reg, reg)
	case 4:
		if v%4 == 0 {
			f.ins("VPBROADCASTD %d(R8), Y14", v)
		}
		f.ins("VPAND bitsD<>+%d(SB), Y14, Y%d", 32*(v%4), reg)
		f.ins("VPCMPEQD bitsD<>+%d(SB), Y%d, Y%d", 32*(v%4), reg, reg)
	case 2:
		f.ins("VPBROADCASTW %d(R8), Y14", 2*v)
		f.ins("VPAND bitsW<>(SB), Y14, Y%d", reg)
		f.ins("VPCMPEQW bitsW<>(SB), Y%d, Y%d", reg, reg)
	default:
		f.ins("VPBROADCASTD %d(R8), Y14", 4*v)
		f.ins("VPSHUFB bytesOf<>(SB), Y14, Y14")
		f.ins("VPAND bitsB<>(SB), Y14, Y%d", reg)
		f.ins("VPCMPEQB bitsB<>(SB), Y%d, Y%d", reg, reg)
	}
}

// writeTables writes the constants of rowVector, the bit of each lane and the
// byte of 32 bits that holds it, and others.
func writeTables(b *bytes.Buffer) {
	table := func(name string, words []uint64) {
		b.WriteByte('\n')
		for i, w := range words {
			fmt.Fprintf(b, "DATA %s<>+%d(SB)/8, $0x%016x\n", name, 8*i, w)
		}
		fmt.Fprintf(b, "GLOBL %s<>(SB), RODATA|NOPTR, $%d\n", name, 8*len(words))
	}
	lanes := func(size, n int) []uint64 {
		words := make([]uint64, n*size/8)
		for i := range n {
			words[i*size/8] |= 1 << (i % (8 * size)) << (8 * (i * size % 8))
		}
		return words
	}
	table("bitsQ", lanes(8, 64))
	table("bitsD", lanes(4, 32))
	table("bitsW", lanes(2, 16))
	table("bitsB", lanes(1, 32))
	order := make([]uint64, 4)
	for i := range 32 {
		order[i/8] |= uint64(i/8) << (i % 8 * 8)
	}
	table("bytesOf", order)
	eight, four := orders()
	table("order8", eight)
	table("order4", four)
	table("minusOne", []uint64{1<<64 - 1, 1<<64 - 1, 1<<64 - 1, 1<<64 - 1})
}

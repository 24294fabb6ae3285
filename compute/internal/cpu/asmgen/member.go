package main

import "fmt"

// memberFamily looks values up in tables without collisions.
func memberFamily() *family {
	fam := &family{
		name: "Member",
		doc: `sets a bit of dst for every one of n values, a multiple of 64, that is
in its slot. A value's hash is the value, its upper half folded into the lower
one, times factor; its bits from top on are the number in moves of what the bits
that extent names are changed with to give the slot. kernel is the logarithm of
the size of a value, 2 or 3.`,
		params: []param{
			{"dst", "unsafe.Pointer"}, {"values", "unsafe.Pointer"}, {"n", "int"}, {"slots", "unsafe.Pointer"},
			{"moves", "unsafe.Pointer"}, {"factor", "uint64"}, {"top", "uint64"}, {"extent", "uint64"},
		},
		rows: "n",
	}
	for i, size := range []int{2: 4, 3: 8} {
		if size == 0 {
			continue
		}
		fam.kernels = append(fam.kernels, kernel{
			name: fmt.Sprintf("member%d", 8*size), indexes: []string{fmt.Sprint(i)}, scalar: true,
			body: func(f *fn) { f.member(size) },
		})
	}
	return fam
}

func (f *fn) member(size int) {
	letter := map[int]string{4: "L", 8: "Q"}[size]
	for _, p := range [][2]string{
		{"dst", "DI"}, {"values", "SI"}, {"n", "CX"}, {"slots", "R8"}, {"moves", "R9"}, {"factor", "R10"}, {"top", "R11"}, {"extent", "R12"},
	} {
		f.arg(p[0], p[1])
	}
	f.loop(func() {
		// The last row first: each bit moves those before it up.
		for row := 63; row >= 0; row-- {
			f.ins("MOV%s %d(SI), AX", letter, row*size)
			f.ins("MOVQ AX, DX")
			if size == 8 {
				f.ins("SHRQ $32, DX")
				f.ins("XORQ AX, DX")
			}
			f.ins("IMULQ R10, DX")
			f.ins("SHRXQ R11, DX, R13")
			f.ins("BEXTRQ R12, DX, DX")
			f.ins("MOVL (R9)(R13*4), R13")
			f.ins("XORQ R13, DX")
			f.ins("XOR%s (R8)(DX*%d), AX", letter, size)
			f.ins("CMP%s AX, $1", letter) // carries if they are equal
			f.ins("ADCQ BX, BX")
		}
		f.ins("MOVQ BX, (DI)")
		f.ins("ADDQ $%d, SI", 64*size)
		f.ins("ADDQ $8, DI")
	})
	f.ins("RET")
}

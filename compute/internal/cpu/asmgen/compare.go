package main

import "fmt"

// compareFamily writes one bit a row. Integers need equality and less alone:
// the caller exchanges the operands, and flip negates. Floats need less or
// equal as well, since NaN is unordered.
func compareFamily() *family {
	fam := &family{
		name: "Compare",
		doc: `compares n rows, a multiple of 64, of a and b and writes a bit a
row to dst, exclusive or flip. stepA and stepB are the bytes from one 64 rows
to the next. kernel is one of compareEqual and so on times kindCount plus the
kind.`,
		params: []param{
			{"dst", "unsafe.Pointer"}, {"a", "unsafe.Pointer"}, {"b", "unsafe.Pointer"},
			{"n", "int"}, {"stepA", "int"}, {"stepB", "int"}, {"flip", "uint64"},
		},
		rows: "n",
	}
	for _, op := range []string{"Equal", "Less", "LessEqual"} {
		for i, k := range kinds {
			index := fmt.Sprintf("compare%s*kindCount + %d", op, i)
			switch {
			case op == "LessEqual" && !k.float:
				continue
			case op == "Equal" && !k.float && !k.signed:
				continue // shares the kernel of the signed type
			}
			indexes := []string{index}
			if op == "Equal" && !k.float {
				indexes = append(indexes, fmt.Sprintf("compareEqual*kindCount + %d", i+4))
			}
			fam.kernels = append(fam.kernels, kernel{
				name: "compare" + op + k.name, indexes: indexes,
				body: func(f *fn) { f.compare(op, k) },
			})
		}
	}
	return fam
}

func (f *fn) compare(op string, k kind) {
	f.arg("dst", "DI")
	f.arg("a", "SI")
	f.arg("b", "BX")
	f.arg("n", "CX")
	f.arg("stepA", "R8")
	f.arg("stepB", "R9")
	f.arg("flip", "R10")
	if f.wide() {
		f.ins("KMOVQ R10, K7")
	} else if op == "Less" && !k.signed {
		f.spread(1<<(8*k.size-1), k.size, 15)
	}
	f.loop(func() {
		if f.wide() {
			f.compareMasks(op, k)
		} else {
			f.compareVectors(op, k)
		}
		f.ins("ADDQ R8, SI")
		f.ins("ADDQ R9, BX")
		f.ins("ADDQ $8, DI")
	})
	f.end()
}

// floatPredicate is the immediate of VCMPPD.
var floatPredicate = map[string]int{"Equal": 0x00, "Less": 0x11, "LessEqual": 0x12}

// compareMasks compares 64 rows into mask registers.
func (f *fn) compareMasks(op string, k kind) {
	bytes := 8 / k.size // of the bitmap in a vector
	for v := range k.size {
		z, mask := v%8, v%6+1
		f.ins("VMOVDQU64 %d(SI), Z%d", 64*v, z)
		switch {
		case k.float:
			f.ins("VCMP%s $0x%x, %d(BX), Z%d, K%d", k.fsuffix(), floatPredicate[op], 64*v, z, mask)
		case op == "Equal":
			f.ins("VPCMPEQ%s %d(BX), Z%d, K%d", k.letter(), 64*v, z, mask)
		case k.signed:
			f.ins("VPCMP%s $1, %d(BX), Z%d, K%d", k.letter(), 64*v, z, mask)
		default:
			f.ins("VPCMPU%s $1, %d(BX), Z%d, K%d", k.letter(), 64*v, z, mask)
		}
		f.ins("KXORQ K7, K%d, K%d", mask, mask)
		f.ins("KMOV%s K%d, %d(DI)", suffix(bytes), mask, bytes*v)
	}
}

// compareVectors compares 64 rows into vectors and gathers their signs.
func (f *fn) compareVectors(op string, k kind) {
	one := func(offset, reg int) {
		switch {
		case k.float:
			f.ins("VMOVUPD %d(SI), Y%d", offset, reg)
			f.ins("VCMP%s $0x%x, %d(BX), Y%d, Y%d", k.fsuffix(), floatPredicate[op], offset, reg, reg)
		case op == "Equal":
			f.ins("VMOVDQU %d(SI), Y%d", offset, reg)
			f.ins("VPCMPEQ%s %d(BX), Y%d, Y%d", k.letter(), offset, reg, reg)
		case k.signed:
			f.ins("VMOVDQU %d(BX), Y%d", offset, reg)
			f.ins("VPCMPGT%s %d(SI), Y%d, Y%d", k.letter(), offset, reg, reg)
		default:
			f.ins("VPXOR %d(BX), Y15, Y%d", offset, reg)
			f.ins("VPXOR %d(SI), Y15, Y%d", offset, reg+1)
			f.ins("VPCMPGT%s Y%d, Y%d, Y%d", k.letter(), reg+1, reg, reg)
		}
	}
	for i := 0; i < 64; {
		switch k.size {
		case 8: // 8 rows
			one(i*8, 0)
			one(i*8+32, 2)
			f.ins("VMOVMSKPD Y0, AX")
			f.ins("VMOVMSKPD Y2, DX")
			f.ins("SHLL $4, DX")
			f.ins("ORL DX, AX")
			f.ins("XORL R10, AX")
			f.ins("MOVB AX, %d(DI)", i/8)
			i += 8
		case 4: // 8 rows
			one(i*4, 0)
			f.ins("VMOVMSKPS Y0, AX")
			f.ins("XORL R10, AX")
			f.ins("MOVB AX, %d(DI)", i/8)
			i += 8
		case 2: // 32 rows
			one(i*2, 0)
			one(i*2+32, 2)
			f.ins("VPACKSSWB Y2, Y0, Y0")
			f.ins("VPERMQ $0xd8, Y0, Y0")
			f.ins("VPMOVMSKB Y0, AX")
			f.ins("XORL R10, AX")
			f.ins("MOVL AX, %d(DI)", i/8)
			i += 32
		default: // 32 rows
			one(i, 0)
			f.ins("VPMOVMSKB Y0, AX")
			f.ins("XORL R10, AX")
			f.ins("MOVL AX, %d(DI)", i/8)
			i += 32
		}
	}
}

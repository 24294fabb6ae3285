package main

import "fmt"

// arithOp is an operation on two values in registers 0 and 1 with the result
// in 2, in the order of arithAdd and so on in package cpu.
type arithOp struct {
	name string
	has  func(k kind) bool
	// setup fills constants from register 10 on; do computes a vector, and
	// marks lanes that went wrong in register 8; verdict makes AX not zero
	// if any did.
	setup, do, verdict func(f *fn, k kind)
}

var arithOps = []arithOp{
	{name: "Add", has: isAny, do: simple("ADD")},
	{name: "Sub", has: isAny, do: simple("SUB")},
	{name: "Mul", has: func(k kind) bool { return k.size > 1 }, do: (*fn).multiply},
	{name: "Div", has: isFloat, do: simple("DIV")},
	{name: "AddChecked", has: isInt, do: checked("ADD"), verdict: (*fn).topBits},
	{name: "SubChecked", has: isInt, do: checked("SUB"), verdict: (*fn).topBits},
	{
		name: "MulChecked", has: func(k kind) bool { return isInt(k) && k.size > 1 },
		setup: (*fn).multiplySetup, do: (*fn).multiplyChecked, verdict: (*fn).multiplyVerdict,
	},
	{name: "DivChecked", has: isFloat, do: (*fn).divideChecked, verdict: (*fn).topBits},
}

func isAny(kind) bool     { return true }
func isFloat(k kind) bool { return k.float }
func isInt(k kind) bool   { return !k.float }

// signless tells operations that are the same for integers of both signs.
func (op arithOp) signless() bool { return op.verdict == nil }

func arithFamily() *family {
	fam := &family{
		name: "Arith",
		doc: `computes n rows, a multiple of 64, and returns zero if all went
well. kernel is one of arithAdd and so on times kindCount plus the kind, plus
arithStream for stores past the cache; dst then starts at a multiple of 64.`,
		params: []param{{"dst", "unsafe.Pointer"}, {"a", "unsafe.Pointer"}, {"b", "unsafe.Pointer"}, {"n", "int"}},
		result: true, rows: "n",
	}
	for o, op := range arithOps {
		for i, k := range kinds {
			if !op.has(k) || op.signless() && isInt(k) && !k.signed {
				continue
			}
			for _, stream := range []bool{false, true} {
				if stream && k.size < 4 {
					continue
				}
				plus, name := "", "arith"+op.name+k.name
				if stream {
					plus, name = "arithStream + ", name+"Stream"
				}
				indexes := []string{fmt.Sprintf("%s%d*kindCount + %d", plus, o, i)}
				if op.signless() && isInt(k) {
					indexes = append(indexes, fmt.Sprintf("%s%d*kindCount + %d", plus, o, i+4))
				}
				fam.kernels = append(fam.kernels, kernel{name: name, indexes: indexes, body: func(f *fn) { f.arith(op, k, stream) }})
			}
		}
	}
	return fam
}

func (f *fn) arith(op arithOp, k kind, stream bool) {
	f.arg("dst", "DI")
	f.arg("a", "SI")
	f.arg("b", "BX")
	f.arg("n", "CX")
	store := f.load
	if stream {
		store = "VMOVNTDQ"
	}
	if op.verdict != nil {
		f.zero(8)
	}
	if op.setup != nil {
		op.setup(f, k)
	}
	f.loop(func() {
		for v := range 64 * k.size / f.bytes {
			f.ins("%s %d(SI), %s", f.load, v*f.bytes, f.v(0))
			f.ins("%s %d(BX), %s", f.load, v*f.bytes, f.v(1))
			op.do(f, k)
			f.ins("%s %s, %d(DI)", store, f.v(2), v*f.bytes)
		}
		for _, r := range []string{"SI", "BX", "DI"} {
			f.ins("ADDQ $%d, %s", 64*k.size, r)
		}
	})
	if stream {
		f.ins("SFENCE")
	}
	f.ins("XORL AX, AX")
	if op.verdict != nil {
		op.verdict(f, k)
	}
	f.ret("AX")
	f.end()
}

// lane is the instruction op for lanes of the kind.
func lane(op string, k kind) string {
	if k.float {
		return "V" + op + k.fsuffix()
	}
	return "VP" + op + k.letter()
}

func simple(op string) func(f *fn, k kind) {
	return func(f *fn, k kind) { f.three(lane(op, k), 1, 0, 2) }
}

// three writes an instruction of three vectors, the destination last.
func (f *fn) three(ins string, a, b, dst int) {
	f.ins("%s %s, %s, %s", ins, f.v(a), f.v(b), f.v(dst))
}

// checked adds or subtracts and takes overflow from the signs of operands and
// result, or carry and borrow from their top bits.
func checked(op string) func(f *fn, k kind) {
	return func(f *fn, k kind) {
		f.three(lane(op, k), 1, 0, 2)
		if f.wide() {
			f.ins("VPTERNLOGQ $0x%02x, Z2, Z1, Z0", truth(op, k))
			f.three(f.or, 0, 8, 8)
			return
		}
		switch {
		case op == "ADD" && k.signed: // (x ^ r) & (y ^ r)
			f.three("VPXOR", 2, 0, 0)
			f.three("VPXOR", 2, 1, 1)
			f.three("VPAND", 1, 0, 0)
		case op == "SUB" && k.signed: // (x ^ y) & (x ^ r)
			f.three("VPXOR", 1, 0, 1)
			f.three("VPXOR", 2, 0, 0)
			f.three("VPAND", 1, 0, 0)
		case op == "ADD": // x & y | (x | y) &^ r
			f.three("VPAND", 1, 0, 3)
			f.three("VPOR", 1, 0, 0)
			f.three("VPANDN", 0, 2, 0)
			f.three("VPOR", 3, 0, 0)
		default: // y &^ x | r &^ (x ^ y)
			f.three("VPANDN", 1, 0, 3)
			f.three("VPXOR", 1, 0, 0)
			f.three("VPANDN", 2, 0, 0)
			f.three("VPOR", 3, 0, 0)
		}
		f.three("VPOR", 0, 8, 8)
	}
}

// truth is the table of a check as VPTERNLOG takes it.
func truth(op string, k kind) (table int) {
	for i := range 8 {
		x, y, r := i>>2&1, i>>1&1, i&1
		var bad int
		switch {
		case op == "ADD" && k.signed:
			bad = (x ^ r) & (y ^ r)
		case op == "SUB" && k.signed:
			bad = (x ^ y) & (x ^ r)
		case op == "ADD":
			bad = x&y | (x|y)&^r
		default:
			bad = y&^x | r&^(x^y)
		}
		table |= bad << i
	}
	return table
}

// topBits collects the top bits of the lanes of register 8.
func (f *fn) topBits(k kind) {
	switch {
	case f.wide():
		f.ins("VPMOV%s2M Z8, K1", k.letter())
		f.ins("KMOVQ K1, AX")
	case k.size == 8:
		f.ins("VMOVMSKPD Y8, AX")
	case k.size == 4:
		f.ins("VMOVMSKPS Y8, AX")
	default:
		if k.size == 2 {
			f.ins("VPSRAW $15, Y8, Y8")
		}
		f.ins("VPMOVMSKB Y8, AX")
	}
}

func (f *fn) multiply(k kind) {
	switch {
	case k.float:
		f.three(lane("MUL", k), 1, 0, 2)
	case k.size < 8 || f.wide():
		f.three(lane("MULL", k), 1, 0, 2)
	default: // from halves; the product of the upper ones falls out
		f.ins("VPSRLQ $32, Y0, Y3")
		f.ins("VPSRLQ $32, Y1, Y4")
		f.three("VPMULUDQ", 1, 3, 3)
		f.three("VPMULUDQ", 0, 4, 4)
		f.three("VPADDQ", 3, 4, 3)
		f.ins("VPSLLQ $32, Y3, Y3")
		f.three("VPMULUDQ", 1, 0, 2)
		f.three("VPADDQ", 3, 2, 2)
	}
}

// exactBound is what products of 64-bit integers, estimated as doubles, must
// stay below: 2^63 or 2^64 less more than the three roundings can be.
func exactBound(k kind) uint64 {
	exponent := uint64(1023 + 62)
	if !k.signed {
		exponent++
	}
	return exponent<<52 | (1<<52 - 1<<4)
}

func (f *fn) multiplySetup(k kind) {
	switch {
	case k.size == 8 && f.wide():
		f.spread(1<<63-1, 8, 10)
		f.spread(exactBound(k), 8, 11)
	case k.size == 8:
		f.spread(1<<31, 8, 10)
	case k.size == 4 && k.signed:
		f.spread(1<<31, 8, 10)
	}
}

// multiplyChecked marks in register 8 what does not fit. For 64 bits it only
// finds out that all products surely fit.
func (f *fn) multiplyChecked(k kind) {
	f.multiply(k)
	switch {
	case k.size == 8 && f.wide():
		convert := "VCVTQQ2PD"
		if !k.signed {
			convert = "VCVTUQQ2PD"
		}
		f.ins("%s Z0, Z0", convert)
		f.ins("%s Z1, Z1", convert)
		f.ins("VMULPD Z1, Z0, Z0")
		f.ins("VPANDQ Z10, Z0, Z0")
		f.ins("VMAXPD Z0, Z8, Z8")
	case k.size == 8:
		f.smallFactors(k)
	case k.size == 4:
		mul := "VPMULDQ"
		if !k.signed {
			mul = "VPMULUDQ"
		}
		f.three(mul, 1, 0, 3)
		f.ins("VPSRLQ $32, %s, %s", f.v(0), f.v(0))
		f.ins("VPSRLQ $32, %s, %s", f.v(1), f.v(1))
		f.three(mul, 1, 0, 4)
		for _, p := range []int{3, 4} {
			if k.signed { // from -2^31..2^31-1 to 0..2^32-1
				f.three("VPADDQ", 10, p, p)
			}
			f.three(f.or, p, 8, 8)
		}
	case k.signed: // the upper half repeats the sign of the lower one
		f.three("VPMULHW", 1, 0, 3)
		f.ins("VPSRAW $15, %s, %s", f.v(2), f.v(4))
		f.three(f.xor, 3, 4, 3)
		f.three(f.or, 3, 8, 8)
	default:
		f.three("VPMULHUW", 1, 0, 3)
		f.three(f.or, 3, 8, 8)
	}
}

// smallFactors marks factors beyond 32 bits, where AVX2 can say no more.
func (f *fn) smallFactors(k kind) {
	if k.signed { // from -2^31..2^31-1 to 0..2^32-1
		f.three("VPADDQ", 10, 0, 0)
		f.three("VPADDQ", 10, 1, 1)
	}
	f.three("VPOR", 1, 0, 0)
	f.three("VPOR", 0, 8, 8)
}

func (f *fn) multiplyVerdict(k kind) {
	switch {
	case k.size == 8 && f.wide():
		f.ins("VCMPPD $13, Z11, Z8, K1") // at least the bound
		f.ins("KMOVB K1, AX")
		return
	case k.size >= 4:
		f.ins("VPSRLQ $32, %s, %s", f.v(8), f.v(8))
	}
	if f.wide() {
		f.ins("VPTESTMQ Z8, Z8, K1")
		f.ins("KMOVB K1, AX")
		return
	}
	f.zero(3)
	f.ins("VPCMPEQB Y3, Y8, Y8")
	f.ins("VPMOVMSKB Y8, AX")
	f.ins("NOTL AX")
}

// divideChecked gives zero where the divisor is.
func (f *fn) divideChecked(k kind) {
	f.three(lane("DIV", k), 1, 0, 2)
	f.zero(3)
	s := k.fsuffix()
	if f.wide() {
		f.ins("VCMP%s $0, Z3, Z1, K1", s)
		f.ins("VPMOVM2%s K1, Z4", k.letter())
		f.ins("VPANDNQ Z2, Z4, Z2")
	} else {
		f.ins("VCMP%s $0, Y3, Y1, Y4", s)
		f.ins("VPANDN Y2, Y4, Y2")
	}
	f.three(f.or, 4, 8, 8)
}

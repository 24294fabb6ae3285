package main

import "math"

// The doubles whose lowest bits are the integers added to them.
const (
	two52   = 0x4330000000000000 // 2^52
	three67 = 0x4438000000000000 // 3 * 2^67
	two84   = 0x4530000000000000 // 2^84
	magic   = 0x4338000000000000 // 3 * 2^51
)

// floatForm converts integers to floats, rounding once.
func (f *fn) floatForm(op castOp) *castForm {
	form := &castForm{range8: op.check, maskSize: op.from.size, wideElements: !f.wide() && !op.from.signed}
	if op.check {
		bits := 53
		if op.to.size == 4 {
			bits = 24
		}
		// The bound itself fits, but is left to Go.
		form.mask = ^uint64(1<<bits - 1)
		if op.from.signed {
			form.bias, form.mask = 1<<bits, ^uint64(1<<(bits+1)-1)
		}
	}
	switch {
	case f.wide():
		form.do = func(f *fn, op castOp) {
			f.inRange(op, 0)
			f.ins("%s %s, %s", f.toFloat(op.from, op.to), f.lanes(op.from, op.to, 0), f.lanes(op.to, op.from, 2))
		}
	case op.from.size == 4 && op.from.signed:
		form.do = func(f *fn, op castOp) {
			if op.to.size == 4 {
				f.inRange(op, 0)
			}
			f.ins("%s %s, Y2", f.toFloat(op.from, op.to), f.lanes(op.from, op.to, 0))
		}
	case op.from.size == 4: // as signed, and 2^31 back
		form.setup = func(f *fn, op castOp) {
			f.spread(1<<31, 4, 11)
			f.spread(math.Float64bits(1<<31), 8, 12)
		}
		form.do = func(f *fn, op castOp) {
			f.inRange(op, 0) // the upper half of the register is zero
			f.ins("VPXOR X11, X0, X1")
			f.ins("VCVTDQ2PD X1, Y2")
			f.ins("VADDPD Y12, Y2, Y2")
			if op.to.size == 4 {
				f.halve(2, 2)
			}
		}
	default:
		form.setup, form.do = (*fn).longSetup, (*fn).longToFloat
	}
	return form
}

// lanes names the register of a kind's lanes beside those of another.
func (f *fn) lanes(k, other kind, i int) string {
	if k.size < other.size {
		return f.part(f.bytes/2, i)
	}
	return f.v(i)
}

// toFloat is the instruction that converts integers.
func (f *fn) toFloat(from, to kind) string {
	name := "VCVT"
	if !from.signed {
		name += "U"
	}
	return name + map[int]string{4: "DQ", 8: "QQ"}[from.size] + "2" + to.fsuffix()
}

// longSetup: integers of 64 bits become doubles from two parts, each of them
// the low bits of a double.
func (f *fn) longSetup(op castOp) {
	f.spread(two52, 8, 11)
	if op.from.signed {
		f.spread(three67, 8, 12)
		f.spread(three67+1<<36, 8, 13)
		f.zero(6)
	} else {
		f.spread(two84, 8, 12)
		f.spread(two84+1<<20, 8, 13)
	}
	if op.to.size == 4 && !op.check {
		f.spread(2047, 8, 15)
		f.zero(6)
		f.spread(1<<52, 8, 14)
		f.spread(^uint64(1<<53-1), 8, 10)
	}
}

func (f *fn) longToFloat(op castOp) {
	f.inRange(op, 0)
	if op.to.size == 4 && !op.check {
		beyond := 0
		if op.from.signed {
			f.three("VPADDQ", 14, 0, 1)
			beyond = 1
		}
		f.ins("VPTEST Y%d, Y10", beyond)
		f.skip("JEQ", func() { f.jam(op) })
	}
	if op.from.signed {
		f.ins("VPSRAD $16, Y0, Y1")
		f.ins("VPBLENDW $0x33, Y6, Y1, Y1")
		f.three("VPADDQ", 12, 1, 1)
		f.ins("VPBLENDW $0x88, Y11, Y0, Y2")
	} else {
		f.ins("VPSRLQ $32, Y0, Y1")
		f.three("VPOR", 12, 1, 1)
		f.ins("VPBLENDW $0xcc, Y11, Y0, Y2")
	}
	f.three("VSUBPD", 13, 1, 1)
	f.three("VADDPD", 2, 1, 2)
	if op.to.size == 4 {
		f.halve(2, 2)
	}
}

// jam rounds integers that a double does not hold to odd multiples of 2048, so
// that rounding to a double first does not change what the float becomes. It
// is left out for vectors without such integers.
func (f *fn) jam(op castOp) {
	f.ins("VPSHUFD $0xf5, Y0, Y1") // the upper halves, twice
	if op.from.signed {
		f.ins("VPSRAD $20, Y1, Y1")
		f.ins("VPSRAD $31, Y1, Y2")
		f.three("VPXOR", 2, 1, 1)
	} else {
		f.ins("VPSRLD $20, Y1, Y1")
	}
	f.three("VPCMPGTD", 6, 1, 1) // beyond 2^52
	f.three("VPAND", 15, 0, 2)
	f.three("VPADDQ", 15, 2, 3)
	f.three("VPANDN", 3, 15, 3) // 2048 where any of the low bits is set
	f.three("VPXOR", 2, 0, 4)   // without the low bits
	f.three("VPOR", 3, 4, 4)
	f.ins("VPBLENDVB Y1, Y4, Y0, Y0")
}

// truncateForm converts floats to integers, towards zero.
func (f *fn) truncateForm(op castOp) *castForm {
	form := &castForm{marks: op.check}
	if !f.wide() {
		form.wideElements = op.to.size == 8 || !op.to.signed
		switch {
		case op.to.size == 8:
			// Only what a double holds beside its fraction is done here.
			form.range8, form.maskSize = true, 8
			form.bias, form.mask = 1<<51, ^uint64(1<<52-1)
			if !op.to.signed {
				form.bias, form.mask = 0, ^uint64(1<<51-1)
			}
			form.setup = func(f *fn, _ castOp) { f.spread(magic, 8, 11) }
			form.do = (*fn).truncateLong
		case !op.to.signed:
			form.setup, form.do = (*fn).unsignedSetup, (*fn).truncateUnsigned
		default:
			form.setup, form.do = (*fn).signedSetup, (*fn).truncateSigned
		}
		return form
	}
	form.setup = (*fn).truncateSetup
	form.do = (*fn).truncate
	return form
}

// truncateLong adds what leaves the integer in the low bits.
func (f *fn) truncateLong(op castOp) {
	source := 0
	if !op.check {
		f.ins("VROUNDPD $3, Y0, Y3")
		source = 3
	}
	f.three("VADDPD", 11, source, 2)
	if op.check {
		f.three("VSUBPD", 11, 2, 1)
		f.mark("PD", 0, 1)
	}
	f.three("VPSUBQ", 11, 2, 2)
	f.inRange(op, 2)
}

// mark notes the lanes in which two vectors differ or are NaN.
func (f *fn) mark(suffix string, a, b int) {
	f.ins("VCMP%s $4, Y%d, Y%d, Y3", suffix, a, b)
	f.three("VPOR", 3, 9, 9)
}

func (f *fn) unsignedSetup(op castOp) {
	f.spread(math.Float64bits(1<<31), 8, 11)
	f.spread(1<<31, 4, 12)
	f.spread(math.Float64bits(1<<32-1), 8, 13)
	f.zero(6)
}

// truncateUnsigned converts as signed what is 2^31 less.
func (f *fn) truncateUnsigned(op castOp) {
	if !op.check {
		f.ins("VMAXPD Y6, Y0, Y0") // NaN is 0
		f.ins("VMINPD Y13, Y0, Y0")
		f.ins("VROUNDPD $3, Y0, Y0")
	}
	f.ins("VSUBPD Y11, Y0, Y1")
	f.ins("VCVTTPD2DQY Y1, X2")
	if op.check {
		f.ins("VCVTDQ2PD X2, Y1")
		f.ins("VADDPD Y11, Y1, Y1")
		f.mark("PD", 0, 1)
	}
	f.ins("VPXOR X12, X2, X2")
}

func (f *fn) signedSetup(op castOp) {
	if op.from.size == 4 {
		f.spread(uint64(math.Float32bits(1<<31)), 4, 11)
	} else {
		f.spread(math.Float64bits(1<<31-1), 8, 11)
	}
}

// truncateSigned converts to 32 bits. What is too large gives the smallest
// integer.
func (f *fn) truncateSigned(op castOp) {
	s := op.from.fsuffix()
	if !op.check {
		f.ins("VCMP%s $7, Y0, Y0, Y1", s) // NaN is 0
		f.three("VPAND", 1, 0, 0)
	}
	if op.from.size == 4 {
		f.ins("VCVTTPS2DQ Y0, Y2")
		if op.check {
			f.ins("VCVTDQ2PS Y2, Y1")
			f.mark(s, 0, 1)
			return
		}
		f.ins("VCMPPS $13, Y11, Y0, Y1")
		f.three("VPXOR", 1, 2, 2)
		return
	}
	if !op.check {
		f.ins("VMINPD Y11, Y0, Y0")
	}
	f.ins("VCVTTPD2DQY Y0, X2")
	if op.check {
		f.ins("VCVTDQ2PD X2, Y1")
		f.mark(s, 0, 1)
	}
}

func (f *fn) truncateSetup(op castOp) {
	bits := 8 * op.to.size
	if op.to.signed {
		bits--
	}
	beyond := math.Ldexp(1, bits)
	if op.from.size == 4 {
		f.spread(uint64(math.Float32bits(float32(beyond))), 4, 11)
	} else {
		f.spread(math.Float64bits(beyond), 8, 11)
	}
	f.spread(^uint64(0), 8, 12)
	f.zero(6)
}

// truncate is the conversion of AVX-512, which gives all ones for what an
// unsigned type does not hold, and the smallest integer for what a signed one
// does not.
func (f *fn) truncate(op castOp) {
	s, x, r := op.from.fsuffix(), f.lanes(op.from, op.to, 0), f.lanes(op.to, op.from, 2)
	sixth, eleventh, twelfth := f.lanes(op.from, op.to, 6), f.lanes(op.from, op.to, 11), f.lanes(op.to, op.from, 12)
	if !op.check && op.to.signed {
		f.ins("VCMP%s $7, %s, %s, K1", s, x, x)
		f.ins("VMOVAP%s.Z %s, K1, %s", s[1:], x, x)
	} else if !op.check {
		f.ins("VMAX%s %s, %s, %s", s, sixth, x, x) // NaN is 0
	}
	convert := "VCVTT" + s + "2"
	if !op.to.signed {
		convert += "U"
	}
	f.ins("%s %s, %s", convert+map[int]string{4: "DQ", 8: "QQ"}[op.to.size], x, r)
	if !op.check && op.to.signed {
		f.ins("VCMP%s $13, %s, %s, K2", s, eleventh, x)
		f.ins("VPXOR%s %s, %s, K2, %s", suffix(op.to.size), twelfth, r, r)
	}
	if op.check {
		back := f.lanes(op.from, op.to, 1)
		f.ins("%s %s, %s", f.toFloat(op.to, op.from), r, back)
		f.ins("VCMP%s $4, %s, %s, K1", s, x, back)
		f.ins("KORW K1, K7, K7")
		if !op.to.signed {
			// All ones round to what is just too large.
			f.ins("VCMP%s $13, %s, %s, K1", s, eleventh, x)
			f.ins("KORW K1, K7, K7")
		}
	}
}

package main

func exactFamily() *family {
	fam := &family{
		name: "Exact",
		doc: `splits n rows, a multiple of 64, of floats at the unit in the last
place of start and stores the sums of both parts, the largest magnitude and
the smallest one above zero, less one in its bits. ` + maskedDoc,
		params: []param{
			{"values", "unsafe.Pointer"}, {"valid", "unsafe.Pointer"}, {"n", "int"},
			{"start", "uint64"}, {"out", "*exactSplit"},
		},
		rows: "n",
	}
	for i, k := range kinds {
		if k.float {
			masked(fam, "exact", i, k, func(f *fn, valid bool) { f.exact(k, valid) })
		}
	}
	return fam
}

// exact keeps in registers 0 to 3 sums that begin at start and are always
// between it and the neighbouring powers of two, so that what an addition
// rounds away is representable; 4 to 7 add that up. See splitter in package
// cpu for why nothing is lost.
func (f *fn) exact(k kind, valid bool) {
	const largest, smallest, magnitude, value = 12, 13, 15, 8
	f.arg("values", "SI")
	f.arg("n", "CX")
	f.arg("start", "BX")
	f.arg("out", "DI")
	if valid {
		f.arg("valid", "R8")
	}
	f.ins("VMOVQ BX, X0")
	f.ins("VBROADCASTSD X0, %s", f.v(0))
	for i := range 3 {
		f.ins("VMOVAPD %s, %s", f.v(0), f.v(i+1))
	}
	f.zero(4, 5, 6, 7, largest)
	f.spread(0x7ff<<52, 8, smallest)
	f.spread(1<<63-1, 8, magnitude)
	minusOne := "minusOne<>(SB)" // no register is left
	if f.wide() {
		f.spread(1<<64-1, 8, 14)
		minusOne = f.v(14)
	}
	f.loop(func() {
		// Two vectors side by side: one waits for each of its additions.
		for v := 0; v < 512/f.bytes; v += 2 {
			f.loadDoubles(k, valid, v, value)
			f.loadDoubles(k, valid, v+1, value+1)
			both := func(do func(high, low, x, t string)) {
				for i := range 2 {
					do(f.v((v+i)%4), f.v(4+(v+i)%4), f.v(value+i), f.v(value+2+i))
				}
			}
			both(func(high, low, x, t string) { f.ins("VADDPD %s, %s, %s", x, high, t) })
			both(func(high, low, x, t string) { f.ins("VSUBPD %s, %s, %s", t, high, high) })
			both(func(high, low, x, t string) { f.ins("VADDPD %s, %s, %s", x, high, high) })
			both(func(high, low, x, t string) { f.ins("%s %s, %s, %s", f.and, f.v(magnitude), x, x) })
			both(func(high, low, x, t string) { f.widest("MAX", x, largest) })
			both(func(high, low, x, t string) { f.ins("VADDPD %s, %s, %s", high, low, low) })
			both(func(high, low, x, t string) { f.ins("VMOVAPD %s, %s", t, high) })
			both(func(high, low, x, t string) { f.ins("VPADDQ %s, %s, %s", minusOne, x, x) })
			both(func(high, low, x, t string) { f.widest("MIN", x, smallest) })
		}
		f.ins("ADDQ $%d, SI", 64*k.size)
		if valid {
			f.ins("ADDQ $8, R8")
		}
	})
	f.ins("VMOVQ BX, X8")
	f.ins("VBROADCASTSD X8, %s", f.v(8))
	for i := range 4 {
		f.ins("VSUBPD %s, %s, %s", f.v(8), f.v(i), f.v(i))
	}
	add := func(reg string, a, b int) { f.ins("VADDPD %s%d, %s%d, %s%d", reg, a, reg, b, reg, b) }
	for _, first := range []int{0, 4} {
		add(f.reg, first+1, first)
		add(f.reg, first+3, first+2)
		add(f.reg, first+2, first)
	}
	f.eachHalf(0, func(reg string, a, b int) { add(reg, a, b) })
	f.eachHalf(4, func(reg string, a, b int) { add(reg, a, b) })
	f.eachHalf(largest, func(reg string, a, b int) { f.widestOf("MAX", reg, a, b) })
	f.eachHalf(smallest, func(reg string, a, b int) { f.widestOf("MIN", reg, a, b) })
	for i, r := range []int{0, 4, largest, smallest} {
		f.ins("VMOVQ X%d, %d(DI)", r, 8*i)
	}
	f.end()
}

// widest takes the extreme of magnitudes; as doubles they are in the same
// order, and NaN leaves the accumulator alone.
func (f *fn) widest(op, x string, acc int) {
	if f.wide() {
		f.ins("VP%sUQ %s, Z%d, Z%d", op, x, acc, acc)
		return
	}
	f.ins("V%sPD Y%d, %s, Y%d", op, acc, x, acc)
}

func (f *fn) widestOf(op, reg string, a, b int) {
	if f.wide() {
		f.ins("VP%sUQ %s%d, %s%d, %s%d", op, reg, a, reg, b, reg, b)
		return
	}
	f.ins("V%sPD %s%d, %s%d, %s%d", op, reg, a, reg, b, reg, b)
}

// eachHalf folds register r with do until one lane is left; it uses 9.
func (f *fn) eachHalf(r int, do func(reg string, a, b int)) {
	if f.wide() {
		f.ins("VEXTRACTF64X4 $1, Z%d, Y9", r)
		do("Y", 9, r)
	}
	f.ins("VEXTRACTF128 $1, Y%d, X9", r)
	do("X", 9, r)
	f.ins("VPERMILPD $1, X%d, X9", r)
	do("X", 9, r)
}

// loadDoubles loads a vector of doubles, zero where not valid.
func (f *fn) loadDoubles(k kind, valid bool, v, reg int) {
	rows := f.bytes / 8
	offset := v * rows * k.size
	mask, load := "", "VMOVUPD"
	if k.size == 4 {
		load = "VCVTPS2PD"
	}
	switch {
	case valid && f.wide():
		f.rowMask(8, v, 1)
		load, mask = load+".Z", "K1, "
	case valid && k.size == 8:
		f.rowVector(8, v, reg)
		f.ins("VANDPD %d(SI), Y%d, Y%d", offset, reg, reg)
		return
	case valid && v%2 == 0: // a vector of float32 makes two
		f.rowVector(4, v/2, 11)
		f.ins("VANDPS %d(SI), Y11, Y11", offset)
		f.ins("VCVTPS2PD X11, Y%d", reg)
		return
	case valid:
		f.ins("VEXTRACTF128 $1, Y11, X11")
		f.ins("VCVTPS2PD X11, Y%d", reg)
		return
	}
	f.ins("%s %d(SI), %s%s", load, offset, mask, f.v(reg))
}

package main

import "fmt"

func blendFamily() *family {
	fam := &family{
		name: "Blend",
		doc: `takes n rows, a multiple of 64, from a where their bit in choice is
set, else from b. kernel is the logarithm of the size of a row, plus blendStream
for stores past the cache; dst then starts at a multiple of 64.`,
		params: []param{
			{"dst", "unsafe.Pointer"}, {"a", "unsafe.Pointer"}, {"b", "unsafe.Pointer"}, {"choice", "unsafe.Pointer"}, {"n", "int"},
		},
		rows: "n",
	}
	for i, size := range []int{1, 2, 4, 8} {
		for _, stream := range []bool{false, true} {
			k := kernel{
				name: fmt.Sprintf("blend%d", 8*size), indexes: []string{fmt.Sprint(i)},
				body: func(f *fn) { f.blend(size, stream) },
			}
			if stream {
				k.name, k.indexes = k.name+"Stream", []string{fmt.Sprintf("blendStream + %d", i)}
			}
			fam.kernels = append(fam.kernels, k)
		}
	}
	return fam
}

func (f *fn) blend(size int, stream bool) {
	f.arg("dst", "DI")
	f.arg("a", "SI")
	f.arg("b", "BX")
	f.arg("choice", "R8")
	f.arg("n", "CX")
	store := f.load
	if stream {
		store = "VMOVNTDQ"
	}
	f.loop(func() {
		for v := range 64 * size / f.bytes {
			at := v * f.bytes
			f.ins("%s %d(BX), %s", f.load, at, f.v(0))
			if f.wide() {
				f.rowMask(size, v, 1)
				f.ins("VMOVDQU%d %d(SI), K1, %s", 8*size, at, f.v(0))
			} else {
				f.rowVector(size, v, 2)
				f.ins("VMOVDQU %d(SI), Y1", at)
				f.ins("VPBLENDVB Y2, Y1, Y0, Y0")
			}
			f.ins("%s %s, %d(DI)", store, f.v(0), at)
		}
		for _, r := range []string{"SI", "BX", "DI"} {
			f.ins("ADDQ $%d, %s", 64*size, r)
		}
		f.ins("ADDQ $8, R8")
	})
	if stream {
		f.ins("SFENCE")
	}
	f.end()
}

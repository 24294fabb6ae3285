package compute

import (
	"unsafe"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// The constructors below turn typed kernels into block kernels, so that a row of a table is little more than a list of
// instances.

// loop is an arithmetic kernel over values of type T. The capacity of its output reaches to the end of the whole
// column, which tells the kernel whether that fits a cache.
func loop[T cpu.Number](f func(out, a, b []T) cpu.Status) blockKernel {
	return func(b *block) cpu.Status {
		out := view[T](b.out, len(b.out)/int(unsafe.Sizeof(T(0))))
		return f(out[:b.n], view[T](b.in[0].values, b.n), view[T](b.in[1].values, b.n))
	}
}

// unary is a kernel of one value.
func unary[R, T cpu.Number](f func(out []R, a []T) cpu.Status) blockKernel {
	return func(b *block) cpu.Status {
		return f(view[R](b.out, b.n), view[T](b.in[0].values, b.n))
	}
}

// floats are the kernels of a function of one float.
func floats(f func(float64) float64) blockKernels {
	return blockKernels{}.and(unary(cpu.Map[float32](f)), unary(cpu.Map[float64](f)))
}

// floatsChecked are floats where domain tells what is wrong with a value.
func floatsChecked(f func(float64) float64, domain func(float64) cpu.Status) blockKernels {
	return blockKernels{}.and(unary(cpu.MapChecked[float32](f, domain)), unary(cpu.MapChecked[float64](f, domain)))
}

// floats2 are the kernels of a function of two floats.
func floats2(f func(a, b float64) float64) blockKernels {
	return blockKernels{}.and(loop(cpu.Map2[float32](f)), loop(cpu.Map2[float64](f)))
}

// floats2Checked are floats2 where domain tells what is wrong with two values.
func floats2Checked(f func(a, b float64) float64, domain func(a, b float64) cpu.Status) blockKernels {
	return blockKernels{}.and(loop(cpu.Map2Checked[float32](f, domain)), loop(cpu.Map2Checked[float64](f, domain)))
}

// predicate is a comparison, given by its form for 64 rows and done for a whole block at once.
func predicate[T cpu.Number](f func(a, b []T) uint64) blockKernel {
	c := cpu.ComparisonOf(f)
	return func(b *block) cpu.Status {
		x, y := &b.in[0], &b.in[1]
		switch {
		case y.one:
			cpu.CompareTo(c, b.ow, view[T](x.values, b.n), view[T](y.values, 1)[0])
		case x.one:
			cpu.CompareTo(c.Swapped(), b.ow, view[T](y.values, b.n), view[T](x.values, 1)[0])
		default:
			cpu.Compare(c, b.ow, view[T](x.values, b.n), view[T](y.values, b.n))
		}
		return 0
	}
}

// test is a predicate of one value, seen with its validity.
func test[T cpu.Number](f func(a []T) uint64, valid func(v, va uint64) uint64) blockKernel {
	return func(b *block) cpu.Status {
		x, va := view[T](b.in[0].values, b.n), b.in[0].valid
		for i := 0; i < b.n; i += 64 {
			b.ow[i/64] = valid(f(x[i:min(i+64, b.n)]), va[i/64])
		}
		return 0
	}
}

// word is a function of 64 bits of each input.
func word(f func(a, b uint64) uint64) blockKernels {
	var k blockKernels
	k[msl.Bool] = func(b *block) cpu.Status {
		x, y := b.in[0].words, b.in[1].words
		for i := range (b.n + 63) / 64 {
			b.ow[i] = f(x[i], y[i])
		}
		return 0
	}
	return k
}

// kleene is a function of 64 bits of each input and their validity, which also says where the result is valid.
func kleene(f func(a, va, b, vb uint64) (v, valid uint64)) blockKernels {
	var k blockKernels
	k[msl.Bool] = func(b *block) cpu.Status {
		x, y := &b.in[0], &b.in[1]
		for i := range (b.n + 63) / 64 {
			b.ow[i], b.ov[i] = f(x.words[i], x.valid[i], y.words[i], y.valid[i])
		}
		return 0
	}
	return k
}

// integers lists the kernels of the eight integer types.
func integers(i8, i16, i32, i64, u8, u16, u32, u64 blockKernel) blockKernels {
	return blockKernels{
		msl.I8: i8, msl.I16: i16, msl.I32: i32, msl.I64: i64,
		msl.U8: u8, msl.U16: u16, msl.U32: u32, msl.U64: u64,
	}
}

// and adds the kernels of floats.
func (k blockKernels) and(f32, f64 blockKernel) blockKernels {
	k[msl.F32], k[msl.F64] = f32, f64
	return k
}

// bools adds the kernel of Bool.
func (k blockKernels) bools(f func(a, b uint64) uint64) blockKernels {
	k[msl.Bool] = word(f)[msl.Bool]
	return k
}

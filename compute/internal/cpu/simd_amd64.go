//go:build !noasm

package cpu

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// The simd functions do the first rows of what a kernel is asked for, whole
// words of 64, and say how many; the caller does the rest in Go. So assembly
// needs no code for odd rows and never looks past them.

// instructions is a set of vector instructions.
type instructions int

const (
	levelNone instructions = iota
	levelAVX2
	levelAVX512
)

// level is what the machine has. Tests lower it.
var level = detect()

func detect() instructions {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasBMI1 || !x.HasBMI2 || !x.HasPOPCNT:
		return levelNone
	// VBMI2 compacts bytes. Machines with AVX-512 but without it also run slower
	// for a while after every use, and are better off with AVX2.
	case x.HasAVX512VBMI2 && x.HasAVX512F && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return levelAVX512
	}
	return levelAVX2
}

// validRowsMax bounds a call that may need its validity shifted first.
const validRowsMax = 1 << 12

const noKernel = "cpu: no such kernel"

// kindCount is the number of element types.
const kindCount = 10

// kindOf numbers the element types: the signed integers by size, the unsigned
// ones, float32 and float64. It folds to a constant.
func kindOf[T Number]() int {
	size := 0
	switch unsafe.Sizeof(T(0)) {
	case 2:
		size = 1
	case 4:
		size = 2
	case 8:
		size = 3
	}
	minusOne := T(0)
	minusOne--
	switch {
	case isFloat[T]():
		return 6 + size
	case minusOne > 0:
		return 4 + size
	}
	return size
}

// simdRows is how many of n rows the simd functions do.
func simdRows(n int) int {
	if level == levelNone {
		return 0
	}
	return n &^ 63
}

// shifted holds validity that does not start on a byte.
type shifted [validRowsMax / 64]uint64

// at returns the validity of n rows from row i, a multiple of 64 rows of at
// most validRowsMax, from its first byte on.
func (s *shifted) at(valid Bitmap, i, n int) unsafe.Pointer {
	i += valid.Off
	if i&7 == 0 {
		return pointer(valid.Data[i>>3:][:n>>3])
	}
	CopyBits(unsafe.Slice((*byte)(unsafe.Pointer(s)), len(s)*8)[:n>>3], Bitmap{Data: valid.Data, Off: i}, n)
	return unsafe.Pointer(s)
}

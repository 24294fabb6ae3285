//go:build !amd64 || noasm

package cpu

import "unsafe"

// Without assembly everything is left to Go.

func simdSum[T Integer]([]T, Bitmap) (sum uint64, rows int) { return 0, 0 }

func simdSumWide[T Integer]([]T, Bitmap) (sum Int128, rows int) { return Int128{}, 0 }

func simdMinMax[T Number]([]T, Bitmap) (e Extremes[T], rows int) { return e, 0 }

func simdCompare[T Number](Comparison, []uint64, []T, []T, bool) (rows int) { return 0 }

func simdAddFloats[T Float](*Exact, []T, Bitmap) (rows int) { return 0 }

func simdCompress[T any]([]T, []T, []byte) (rows, kept int) { return 0, 0 }

func simdGather[T any]([]T, []T, []uint64) (rows int) { return 0 }

func simdCompact([]uint64, []uint64, []byte, int) bool { return false }

func simdStreams(int) bool { return false }

func simdStream(dst, src []byte) { copy(dst, src) }

func simdBits(_ int, dst []byte, a, b Bitmap, n int) ([]byte, Bitmap, Bitmap, int) {
	return dst, a, b, n
}

func simdCount(Bitmap, int) (count, rows int) { return 0, 0 }

func simdArith[T Number](int, []T, []T, []T) (rows int, ok bool) { return 0, true }

func simdBlend[T uint8 | uint16 | uint32 | uint64]([]T, []T, []T, []uint64) (rows int) { return 0 }

// simdSplit is for the rows of simdAddFloats, of which there are none.
func simdSplit[T Float](block []T, _ unsafe.Pointer, start float64, out *exactSplit) {
	splitValues(block, start, out)
}

func simdCast[O, I Number](bool, []O, []I) (rows int, ok bool) { return 0, true }

func simdCumulate[T Integer](_, _ []T, _ Bitmap, sum T, _ bool) (rows int, last T, bad uint64) {
	return 0, sum, 0
}

func simdMember[T uint8 | uint16 | uint32 | uint64](*Table[T], []uint64, []T) (rows int) { return 0 }

package cpu

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// cumulateRows is how many rows a worker sums before it writes them: values and
// results of 8 bytes stay in its second-level cache.
const cumulateRows = 16 * 1024

// CumulateInts writes start plus the sum of the rows up to each and returns the
// last of them. Nulls add nothing; what they get is unspecified. Sums wrap, and
// the status says Overflow if a valid row's does not fit.
func CumulateInts[T Integer](out, in []T, valid Bitmap, start T, workers int) (T, Status) {
	blocks := (len(in) + cumulateRows - 1) / cumulateRows
	stream := simdStreams(len(out) * int(unsafe.Sizeof(start)))
	if workers <= 1 || blocks < 4 {
		return cumulateBlocks(out, in, valid, start, stream)
	}
	// Workers take the blocks in order. Each sums its block and waits for the sum
	// of all rows before it, which the worker of the block before tells as soon as
	// it knows its own, so that every row is read from memory once.
	before := make([]atomic.Uint64, blocks+1)
	told := make([]atomic.Bool, blocks+1)
	before[0].Store(uint64(start))
	told[0].Store(true)
	var bad atomic.Uint32
	var next atomic.Int64
	Parallel(workers*64, 64, workers, func(_, _, _ int) {
		for {
			i := int(next.Add(1)) - 1
			if i >= blocks {
				return
			}
			from := i * cumulateRows
			to := min(from+cumulateRows, len(in))
			rows, live := in[from:to], valid.Slice(from)
			sum := SumInt(rows, live)
			for !told[i].Load() {
				runtime.Gosched()
			}
			at := before[i].Load()
			before[i+1].Store(at + sum)
			told[i+1].Store(true)
			if _, st := cumulateBlocks(out[from:to], rows, live, T(at), stream); st != 0 {
				bad.Or(uint32(st))
			}
		}
	})
	return T(before[blocks].Load()), Status(bad.Load())
}

// cumulateBlocks is CumulateInts on one goroutine.
func cumulateBlocks[T Integer](out, in []T, valid Bitmap, sum T, stream bool) (T, Status) {
	done, sum, unfit := simdCumulate(out, in, valid, sum, stream)
	out, in, valid = out[done:], in[done:], valid.Slice(done)
	var bad T
	if valid.All() {
		sum, bad = cumulateDense(out, in, sum)
	} else {
		for i := 0; i < len(in); i += 64 {
			n := min(64, len(in)-i)
			var b T
			if w := valid.Word(i, len(in)); w == ^uint64(0) {
				sum, b = cumulateDense(out[i:i+n], in[i:i+n], sum)
			} else {
				sum, b = cumulateSome(out[i:i+n], in[i:i+n], w, sum)
			}
			bad |= b
		}
	}
	if unfit != 0 || bad>>(8*unsafe.Sizeof(bad)-1) != 0 {
		return sum, Overflow
	}
	return sum, 0
}

// cumulateDense returns the sum and a value whose highest bit is set if a row's
// sum did not fit.
func cumulateDense[T Integer](out, in []T, sum T) (T, T) {
	var bad T
	out = out[:len(in)]
	if isSigned[T]() {
		for i, v := range in {
			s := sum + v
			bad |= (s ^ sum) & (s ^ v)
			sum, out[i] = s, s
		}
		return sum, bad
	}
	for i, v := range in {
		s := sum + v
		bad |= sum&v | (sum|v)&^s
		sum, out[i] = s, s
	}
	return sum, bad
}

// cumulateSome is cumulateDense for at most 64 rows, those whose bit in w is set.
func cumulateSome[T Integer](out, in []T, w uint64, sum T) (T, T) {
	var bad T
	out = out[:len(in)]
	signed := isSigned[T]()
	for i, v := range in {
		v &= -T(w >> i & 1)
		s := sum + v
		if signed {
			bad |= (s ^ sum) & (s ^ v)
		} else {
			bad |= sum&v | (sum|v)&^s
		}
		sum, out[i] = s, s
	}
	return sum, bad
}

// CumulateFloats is CumulateInts for floats, row after row: the result of each
// addition is rounded, so that the order is part of the answer.
func CumulateFloats[T Float](out, in []T, valid Bitmap, sum T) T {
	out = out[:len(in)]
	if valid.All() {
		for i, v := range in {
			sum += v
			out[i] = sum
		}
		return sum
	}
	var block [floatRows]T
	var words [floatRows / 64]uint64
	for i := 0; i < len(in); i += floatRows {
		n := min(floatRows, len(in)-i)
		valid.Words(words[:], i, n)
		nullsToMinusZero(block[:n], in[i:i+n], words[:])
		sums := out[i : i+n]
		for k, v := range block[:n] {
			sum += v
			sums[k] = sum
		}
	}
	return sum
}

// floatRows is how many rows with nulls are made ready at a time.
const floatRows = 512

var minusZeros32, minusZeros64 = repeat[uint32](1 << 31), repeat[uint64](1 << 63)

func repeat[T any](v T) (all [floatRows]T) {
	for i := range all {
		all[i] = v
	}
	return all
}

// nullsToMinusZero copies the rows whose bit in valid is set; of others it makes -0, which changes no sum.
func nullsToMinusZero[T Float](dst, src []T, valid []uint64) {
	if unsafe.Sizeof(T(0)) == 4 {
		Blend(bitsOf[uint32](dst), bitsOf[uint32](src), minusZeros32[:], valid)
	} else {
		Blend(bitsOf[uint64](dst), bitsOf[uint64](src), minusZeros64[:], valid)
	}
}

// bitsOf views floats as integers of their size.
func bitsOf[B uint32 | uint64, T Float](s []T) []B {
	return unsafe.Slice((*B)(unsafe.Pointer(unsafe.SliceData(s))), len(s))
}

// FirstNull is the first of n rows that is null, n if none is.
func FirstNull(valid Bitmap, n int) int {
	if valid.All() {
		return n
	}
	for i := 0; i < n; i += 64 {
		w := ^valid.Word(i, n)
		if k := min(64, n-i); k < 64 {
			w &= 1<<k - 1
		}
		if w != 0 {
			return i + bits.TrailingZeros64(w)
		}
	}
	return n
}

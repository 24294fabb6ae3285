package gputest

import (
	"math/bits"

	"github.com/stretchr/testify/require"
)

var simdChecks = []check{
	{"SIMDGroup", checkSIMDGroup},
	{"Shuffle64", checkShuffle64},
	{"ThreadgroupMemory", checkThreadgroupMemory},
	{"Atomics", checkAtomics},
}

// scattered is a value of element i with all kinds of bits.
func scattered(i int) uint32 { return uint32(i) * 2654435761 }

func checkSIMDGroup(b *bench) {
	const n, lanes = 1000, 32
	in, a := input(b, n, scattered)
	out, got := alloc[uint32](b, 5*n)
	b.run(b.compile("simd"), n, 256, in, out)
	at := func(i int) uint32 { // lanes past the end have 0
		if i < n {
			return a[i]
		}
		return 0
	}
	for i := range n {
		first := i &^ (lanes - 1)
		var sum, prefix, odd uint32
		least := at(first)
		for k := range lanes {
			x := at(first + k)
			if first+k < i {
				prefix += x
			}
			sum += x
			odd |= x & 1 << k
			least = min(least, x)
		}
		require.Equal(b, []uint32{sum, prefix, at(i ^ 1), odd, least}, got[5*i:5*i+5], "element %d", i)
	}
}

func checkShuffle64(b *bench) {
	const n = 256
	in, a := input(b, n, func(i int) uint64 { return uint64(scattered(i))<<32 | uint64(i) })
	out, got := alloc[uint64](b, n)
	b.run(b.compile("shuffle64"), n, 64, in, out)
	for i, v := range got {
		require.Equal(b, a[i^16], v)
	}
}

func checkThreadgroupMemory(b *bench) {
	p := b.compile("tile")
	for _, threads := range []int{32, 256, 1024} {
		if threads > p.MaxThreads() {
			continue // a device may allow fewer; 256 it must
		}
		n := 4 * threads
		in, a := input(b, n, scattered)
		out, got := alloc[uint32](b, n)
		b.run(p, n, threads, in, out)
		for i, v := range got {
			first := i / threads * threads
			require.Equal(b, a[first+threads-1-(i-first)], v)
		}
	}
}

func checkAtomics(b *bench) {
	const n = 5000
	in, a := input(b, n, scattered)
	out, got := alloc[uint32](b, 3)
	clear(got)
	b.run(b.compile("atomics"), n, 256, in, out)
	var sum, most, mask uint32
	for _, x := range a {
		sum += x
		most = max(most, x)
		mask |= 1 << (x & 31)
	}
	require.Equal(b, []uint32{sum, most, mask}, got)
	require.Greater(b, bits.OnesCount32(mask), 16, "the test data are of no use")
}

package memory

import "math/bits"

// Sizes are rounded up to one of numClasses classes: multiples of a line up to 512 bytes, then four for each doubling.
const (
	lineSize  = 128        // what a GPU writes back at once
	pageSize  = 16 << 10   // the largest page of the supported systems (Apple silicon)
	pooledMax = 2 << 20    // larger blocks have an arena of their own
	poolMin   = 8 << 20    // size of the first shared arena; they grow with use
	poolMax   = 64 << 20   // and stop growing here
	poolTight = 1 << 20    // size of a shared arena when memory is short
	maxBlock  = maxInt / 4 // keeps every rounding below overflow

	maxInt     = int(^uint(0) >> 1)
	numClasses = 4 + 4*(bits.UintSize-10)
)

// classOf returns the class of a block of n bytes, 1 <= n <= maxBlock.
func classOf(n int) int {
	if n <= 4*lineSize {
		return (n+lineSize-1)/lineSize - 1
	}
	k := bits.Len(uint(n-1)) - 1 // 1<<k <= n-1
	return 4 + 4*(k-9) + (n-1-1<<k)>>(k-2)
}

// classSize returns the bytes of a block of class c.
func classSize(c int) int {
	if c < 4 {
		return (c + 1) * lineSize
	}
	k := (c-4)/4 + 9
	return 1<<k + ((c-4)%4+1)<<(k-2)
}

var pooledClasses = classOf(pooledMax) + 1

// slabPages is, by class, how many pages a span of several blocks takes: the fewest that waste at most a sixteenth.
var slabPages = func() []int {
	pages := make([]int, pooledClasses)
	for c := range pages {
		size := classSize(c)
		p := roundUp(size, pageSize) / pageSize
		for p*pageSize%size > p*pageSize/16 {
			p++
		}
		pages[c] = p
	}
	return pages
}()

// roundUp rounds n up to a multiple of to, a power of two.
func roundUp(n, to int) int { return (n + to - 1) &^ (to - 1) }

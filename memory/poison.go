package memory

import (
	"bytes"
	"fmt"
)

// poisonByte is what unwritten and freed memory holds under -tags assert: conspicuous as an integer, a float, a bitmap.
const poisonByte = 0xCB

// poison fills b.
func poison(b []byte) {
	if len(b) == 0 {
		return
	}
	b[0] = poisonByte
	for n := 1; n < len(b); n *= 2 {
		copy(b[n:], b[:n])
	}
}

// checkPoison panics if a block was written to after it was freed.
func checkPoison(b []byte) {
	if b[0] == poisonByte && bytes.Equal(b[1:], b[:len(b)-1]) {
		return
	}
	for i, x := range b {
		if x != poisonByte {
			panic(fmt.Errorf("memory: a block of %d bytes at %p was written after it was freed: byte %d is %#x",
				len(b), b, i, x))
		}
	}
}

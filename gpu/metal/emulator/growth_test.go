//go:build linux

package emulator

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// Objects and pools that come and go leave nothing behind, but for the latest dead ones, which are kept so that their use
// is seen.
func TestMemoryIsBounded(t *testing.T) {
	round := func(n int) {
		for range n {
			pool(func() { pool(func() { send(objc.queue, "commandBuffer") }) })
		}
	}
	round(20_000)
	before := residentBytes(t)
	round(60_000)
	if grown := residentBytes(t) - before; grown > 4<<20 {
		t.Errorf("60000 objects and 120000 pools left %d bytes", grown)
	}
}

func residentBytes(t *testing.T) int {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(text))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}

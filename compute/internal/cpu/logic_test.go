package cpu

import "testing"

// Three-valued logic, one row of the truth table a bit.
func TestKleene(t *testing.T) {
	const null = 2
	and := func(a, b int) int {
		switch {
		case a == 0 || b == 0:
			return 0
		case a == null || b == null:
			return null
		}
		return 1
	}
	not := func(a int) int {
		if a == null {
			return null
		}
		return 1 - a
	}
	kernels := []struct {
		name string
		run  func(a, va, b, vb uint64) (v, valid uint64)
		want func(a, b int) int
	}{
		{"and", AndKleene, and},
		{"or", OrKleene, func(a, b int) int { return not(and(not(a), not(b))) }},
		{"and_not", AndNotKleene, func(a, b int) int { return and(a, not(b)) }},
	}
	for _, k := range kernels {
		// Bits 0-1 are a's value and validity, 2-3 b's: all 16 combinations.
		var a, va, b, vb uint64
		for i := range uint64(16) {
			a |= (i & 1) << i
			va |= (i >> 1 & 1) << i
			b |= (i >> 2 & 1) << i
			vb |= (i >> 3 & 1) << i
		}
		v, valid := k.run(a, va, b, vb)
		for i := range 16 {
			state := func(v, valid uint64) int {
				if valid>>i&1 == 0 {
					return null
				}
				return int(v >> i & 1)
			}
			if got, want := state(v, valid), k.want(state(a, va), state(b, vb)); got != want {
				t.Errorf("%s(%d, %d) = %d, want %d", k.name, state(a, va), state(b, vb), got, want)
			}
		}
		if v&^valid != 0 {
			t.Errorf("%s: values under nulls are %x", k.name, v&^valid)
		}
	}
}

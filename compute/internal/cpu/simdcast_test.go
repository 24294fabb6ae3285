//go:build linux && amd64 && !noasm

package cpu

import "testing"

// The assembly of every level gives what Go gives, also past the caches, and stays within its slices.
func TestSIMDCast(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		TestCast(t)
		simdCastsFrom[int32](t)
		simdCastsFrom[int64](t)
		simdCastsFrom[uint32](t)
		simdCastsFrom[uint64](t)
		simdCastsFrom[float32](t)
		simdCastsFrom[float64](t)
	})
}

func simdCastsFrom[I Number](t *testing.T) {
	simdCast1[int32, I](t)
	simdCast1[int64, I](t)
	simdCast1[uint32, I](t)
	simdCast1[uint64, I](t)
	simdCast1[float32, I](t)
	simdCast1[float64, I](t)
}

func simdCast1[O, I Number](t *testing.T) {
	t.Helper()
	r := newRand(9)
	in, gd := newGuard(t), newGuard(t)
	large := make([]O, streamBytes) // its outputs go past the caches
	edges := castEdges[I]()
	for round := range 60 {
		n := []int{64, 128, 200, 1024, maxRows + 193}[round%5]
		a := guarded(in, make([]I, n), round%2 == 0)
		for i := range a {
			a[i] = I(r.IntN(1 << 20)) // survives everywhere
			if round%3 == 0 {
				a[i] = edges[r.IntN(len(edges))]
			}
		}
		if round%3 == 1 {
			a[r.IntN(n)] = edges[r.IntN(len(edges))]
		}
		want := make([]O, n)
		var status Status
		for _, checked := range []bool{false, true} {
			run := func(out []O) Status {
				if checked {
					return CastChecked(out, a)
				}
				CastWrap(out, a)
				return 0
			}
			withLevel(levelNone, func() { status = run(want) })
			for _, out := range [][]O{guarded(gd, make([]O, n), round%2 == 1), large[:n]} {
				if got := run(out); got != status {
					t.Fatalf("%T to %T, %d rows, checked %t: status %d, want %d", a[0], out[0], n, checked, got, status)
				}
				for i := range want {
					if !same(out[i], want[i]) && (!checked || status == 0) {
						t.Fatalf("%T to %T, row %d of %d, checked %t: %v gives %v, want %v", a[0], out[0], i, n, checked, a[i], out[i], want[i])
					}
				}
			}
		}
	}
}

package cpu

import "testing"

func TestCompare(t *testing.T) {
	run[int8](t, testCompare[int8])
	run[int16](t, testCompare[int16])
	run[int32](t, testCompare[int32])
	run[int64](t, testCompare[int64])
	run[uint8](t, testCompare[uint8])
	run[uint16](t, testCompare[uint16])
	run[uint32](t, testCompare[uint32])
	run[uint64](t, testCompare[uint64])
	run[float32](t, testCompare[float32])
	run[float64](t, testCompare[float64])
}

func testCompare[T Number](t *testing.T) {
	kernels := []struct {
		name  string
		array func(a, b []T) uint64
		to    func(a []T, s T) uint64
		want  func(a, b T) bool
	}{
		{"equal", Equal[T], EqualTo[T], func(a, b T) bool { return a == b }},
		{"not_equal", NotEqual[T], NotEqualTo[T], func(a, b T) bool { return a != b }},
		{"greater", Greater[T], GreaterTo[T], func(a, b T) bool { return a > b }},
		{"greater_equal", GreaterEqual[T], GreaterEqualTo[T], func(a, b T) bool { return a >= b }},
		{"less", Less[T], LessTo[T], func(a, b T) bool { return a < b }},
		{"less_equal", LessEqual[T], LessEqualTo[T], func(a, b T) bool { return a <= b }},
	}
	r := newRand(4)
	for n := range 65 {
		for range 4 {
			a, b := randomValues[T](r, n), randomValues[T](r, n)
			for i := range n {
				if r.IntN(3) == 0 {
					b[i] = a[i]
				}
			}
			s := randomValues[T](r, 1)[0]
			for _, k := range kernels {
				var array, to uint64
				for i := range n {
					array |= bit(k.want(a[i], b[i])) << i
					to |= bit(k.want(a[i], s)) << i
				}
				if got := k.array(a, b); got != array {
					t.Fatalf("%s(%v, %v) = %b, want %b", k.name, a, b, got, array)
				}
				if got := k.to(a, s); got != to {
					t.Fatalf("%s(%v, scalar %v) = %b, want %b", k.name, a, s, got, to)
				}
			}
		}
	}
}

func TestIsNaN(t *testing.T) {
	run[float32](t, testIsNaN[float32])
	run[float64](t, testIsNaN[float64])
}

func testIsNaN[T Float](t *testing.T) {
	r := newRand(5)
	for n := range 65 {
		a := randomValues[T](r, n)
		var want uint64
		for i, v := range a {
			want |= bit(v != v) << i
		}
		if got := IsNaN(a); got != want {
			t.Fatalf("IsNaN(%v) = %b, want %b", a, got, want)
		}
	}
}

func TestSwapped(t *testing.T) {
	for c := range IsLess | IsEqual | IsGreater + 1 {
		for _, v := range [][2]int64{{1, 2}, {2, 2}, {3, 2}} {
			if c == 0 || c == IsLess|IsEqual|IsGreater {
				continue // always or never: no function of the package
			}
			if a, b := wordOf(c, v[:1], v[1:]), wordOf(c.Swapped(), v[1:], v[:1]); a != b {
				t.Errorf("%b of %v: %b, swapped %b", c, v, a, b)
			}
		}
	}
}

package cpu

// Blend takes out[i] from a where bit i of choice is set, else from b. All have
// one length; out may be a or b.
func Blend[T uint8 | uint16 | uint32 | uint64](out, a, b []T, choice []uint64) {
	a, b = a[:len(out)], b[:len(out)]
	for start := simdBlend(out, a, b, choice); start < len(out); start += 64 {
		end := min(start+64, len(out))
		o, x, y := out[start:end], a[start:end], b[start:end]
		switch w := choice[start>>6]; w {
		case 0:
			copy(o, y)
		case ^uint64(0):
			copy(o, x)
		default:
			x, y = x[:len(o)], y[:len(o)]
			for i := range o {
				mask := -T(w & 1)
				w >>= 1
				o[i] = y[i] ^ (x[i]^y[i])&mask
			}
		}
	}
}

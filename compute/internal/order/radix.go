package order

import "math/bits"

// digit is how many bits one pass of a radix sort looks at: fewer where there are few rows to make up for the counters.
const (
	digit      = 11
	smallDigit = 8
	fewRows    = 1 << 16
	insertion  = 24 // rows from which a radix sort is worth while
)

// radix orders rows x by their keys k, stably, the lowest digits first. different has the bits in which keys differ at
// all: digits without any are passed over. The result is in x2 and k2 where inSecond is set; keys are in order too only
// if they are kept.
func radix[I index, K pattern](s *sorter[I], x, x2 []I, k, k2 []K, different K, keep bool) (sorted []K, inSecond bool) {
	if len(x) <= insertion {
		insert(x, k)
		return k, false
	}
	width := digit
	if len(x) < fewRows {
		width = smallDigit
	}
	for d := different; d != 0; {
		shift := bits.TrailingZeros64(uint64(d))
		mask := K(1)<<width - 1
		d &^= mask << shift
		pass(s, x, x2, k, k2, shift, width, d != 0 || keep)
		x, x2, k, k2, inSecond = x2, x, k2, k, !inSecond
	}
	return k, inSecond
}

// pass moves rows to where their digit wants them. Every worker has the rows of one range, in which it counts digits
// first; its rows of a digit come after those of the ranges before.
func pass[I index, K pattern](s *sorter[I], x, x2 []I, k, k2 []K, shift, width int, keys bool) {
	n, mask := len(x), K(1)<<width-1
	at := make([][]int, s.workersFor(n))
	s.split(n, func(w, start, end int) {
		c := make([]int, 1<<width)
		for _, v := range k[start:end] {
			c[v>>shift&mask]++
		}
		at[w] = c
	})
	next := 0
	for d := range at[0] {
		for w := range at {
			next, at[w][d] = next+at[w][d], next
		}
	}
	s.split(n, func(w, start, end int) {
		c, rows := at[w], x[start:end]
		for i, v := range k[start:end] {
			p := &c[v>>shift&mask]
			to := *p
			*p = to + 1
			x2[to] = rows[i]
			if keys {
				k2[to] = v
			}
		}
	})
}

// insert orders few rows.
func insert[I index, K pattern](x []I, k []K) {
	for i := 1; i < len(k); i++ {
		row, v, j := x[i], k[i], i
		for ; j > 0 && k[j-1] > v; j-- {
			x[j], k[j] = x[j-1], k[j-1]
		}
		x[j], k[j] = row, v
	}
}

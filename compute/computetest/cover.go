package computetest

import "math/rand/v2"

// cover makes a pairwise covering array: vectors of one value per dimension such that every pair of values of two
// dimensions that allowed permits occurs in some vector. sizes[d] is the number of values of dimension d. Only the first
// two dimensions restrict each other. It is greedy, and the same for the same arguments.
func cover(sizes []int, allowed func(first, second int) bool) [][]int {
	g := &greedy{sizes: sizes, allowed: allowed, rng: rand.New(rand.NewPCG(1, 2))}
	for _, n := range sizes {
		g.base = append(g.base, g.total)
		g.total += n
	}
	g.done = make([]bool, g.total*g.total)
	var out [][]int
	for a := range sizes {
		for b := a + 1; b < len(sizes); b++ {
			for i := range sizes[a] {
				for k := range sizes[b] {
					if a == 0 && b == 1 && !allowed(i, k) || *g.pair(a, i, b, k) {
						continue
					}
					out = append(out, g.vector(a, i, b, k))
				}
			}
		}
	}
	return out
}

type greedy struct {
	sizes, base []int
	total       int
	done        []bool
	allowed     func(first, second int) bool
	rng         *rand.Rand
}

func (g *greedy) pair(a, i, b, k int) *bool {
	if a > b {
		a, i, b, k = b, k, a, i
	}
	return &g.done[(g.base[a]+i)*g.total+g.base[b]+k]
}

// vector completes a pair with the values that cover the most new pairs.
func (g *greedy) vector(a, i, b, k int) []int {
	v := make([]int, len(g.sizes))
	for d := range v {
		v[d] = -1
	}
	v[a], v[b] = i, k
	for d := range v {
		if v[d] < 0 {
			v[d] = g.best(v, d)
		}
	}
	for d := range v {
		for e := d + 1; e < len(v); e++ {
			*g.pair(d, v[d], e, v[e]) = true
		}
	}
	return v
}

func (g *greedy) best(v []int, d int) int {
	best, most, ties := 0, -1, 0
	for x := range g.sizes[d] {
		if d == 0 && v[1] >= 0 && !g.allowed(x, v[1]) || d == 1 && !g.allowed(v[0], x) {
			continue
		}
		n := 0
		for e, y := range v {
			if y >= 0 && !*g.pair(d, x, e, y) {
				n++
			}
		}
		switch {
		case n > most:
			best, most, ties = x, n, 1
		case n == most:
			if ties++; g.rng.IntN(ties) == 0 {
				best = x
			}
		}
	}
	return best
}

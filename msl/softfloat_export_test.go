package msl

import "math/rand/v2"

// The operands and the oracles of the software arithmetic, for tests that run it on a device.

// SoftPair is a pair of bit patterns.
type SoftPair struct{ A, B uint64 }

// SoftOracle is what the host's own arithmetic says about pairs of one format.
type SoftOracle struct {
	Names []string // the columns of a result
	o     softOracle
}

// SoftOracles returns the oracles of binary64 and binary32.
func SoftOracles() (binary64, binary32 SoftOracle) {
	return SoftOracle{softOracle64.names, softOracle64}, SoftOracle{softOracle32.names, softOracle32}
}

// Want fills in what each column should be.
func (s SoftOracle) Want(p SoftPair, want []uint64) { s.o.results(softPair{p.A, p.B}, want) }

// Equal compares column i. NaNs equal each other, and a NaN that was computed must be quiet.
func (s SoftOracle) Equal(i int, got, want uint64) bool {
	if !s.o.equal(i, got, want) {
		return false
	}
	f := s.o.format
	switch s.Names[i] {
	case "compare", "to_long", "to_ulong":
		return true
	case "to_float_bits", "float_of_long", "float_of_ulong":
		f = softBinary32
	}
	nan := got&^f.sign() > uint64(f.special())<<f.frac
	return !nan || got>>(f.frac-1)&1 == 1
}

// Edges crosses every class of value with itself.
func (s SoftOracle) Edges() []SoftPair { return exported(s.o.format.edges()) }

// Random gives about n pairs: half of them uniform bit patterns, half aimed at one way to be wrong.
func (s SoftOracle) Random(n int, seed uint64) []SoftPair {
	kinds := len(softKinds)
	if s.o.format == softBinary64 {
		kinds += len(softNumbers)
	}
	pairs := softRandom(s.o.format, max(1, n/2/kinds), seed)
	uniform := softRandomBits(s.o.format, n-len(pairs), seed)
	return append(exported(pairs), uniform...)
}

func exported(pairs []softPair) []SoftPair {
	list := make([]SoftPair, len(pairs))
	for i, p := range pairs {
		list[i] = SoftPair{p.a, p.b}
	}
	return list
}

func softRandomBits(f softFormat, n int, seed uint64) []SoftPair {
	r := rand.New(rand.NewPCG(seed, 1985))
	list := make([]SoftPair, n)
	for i := range list {
		list[i] = SoftPair{r.Uint64() & f.mask(), r.Uint64() & f.mask()}
	}
	return list
}

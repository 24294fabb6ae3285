package cpu

// The Kleene forms take 64 rows of two nullable booleans as values (a, b) and
// validity (va, vb) and return the values and validity of the result. Value
// bits under nulls may be anything and are zero in the result.

// AndKleene: false AND null is false, true AND null is null.
func AndKleene(a, va, b, vb uint64) (v, valid uint64) {
	return a & va & b & vb, va&vb | va&^a | vb&^b
}

// OrKleene: true OR null is true, false OR null is null.
func OrKleene(a, va, b, vb uint64) (v, valid uint64) {
	v = a&va | b&vb
	return v, va&vb | v
}

// AndNotKleene is a AND NOT b.
func AndNotKleene(a, va, b, vb uint64) (v, valid uint64) {
	return AndKleene(a, va, ^b, vb)
}

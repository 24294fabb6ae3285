package computetest

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"testing"
)

// Fuzz runs one case that data decides: one of the functions with one of its signatures, a shape, a length, and the
// values of its rows.
func Fuzz(t *testing.T, ctx context.Context, functions []string, data []byte) {
	rng := rand.New(&bytesSource{data: data, rest: rand.NewPCG(uint64(len(data)), 1)})
	row := rowOf(functions[rng.IntN(len(functions))])
	c := Case{
		row: row, types: row.Types[rng.IntN(len(row.Types))],
		length: rng.IntN(300), offset: rng.IntN(70),
		nulls:   full.nulls[rng.IntN(len(full.nulls))],
		flavour: flavour(rng.IntN(len(flavours))),
		shape:   shapes[rng.IntN(len(shapes))],
		option:  rng.IntN(max(full.options, len(row.Options))),
	}
	t.Logf("%s/%s", row.Name, c.name())
	p := pathOf(t, ctx)
	p.checkWith(t, &c, rng)
}

// bytesSource takes random numbers from bytes while there are any, so that a fuzzer can steer them.
type bytesSource struct {
	data []byte
	rest *rand.PCG
}

func (s *bytesSource) Uint64() uint64 {
	if len(s.data) == 0 {
		return s.rest.Uint64()
	}
	var word [8]byte
	n := copy(word[:], s.data)
	s.data = s.data[n:]
	return binary.BigEndian.Uint64(word[:])
}

package compute_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

// manyInts are rows of values below a limit, spread over 64 bits where spread is set.
func manyInts(rows, limit int, spread bool) *array.Int64 {
	rng := rand.New(rand.NewPCG(1, 1))
	b := array.NewInt64Builder(arrowmem.DefaultAllocator)
	defer b.Release()
	b.Reserve(rows)
	for range rows {
		v := rng.Int64N(int64(limit))
		if spread {
			v *= -0x61c8864680b583eb
		}
		b.UnsafeAppend(v)
	}
	return b.NewInt64Array()
}

func BenchmarkIsIn(b *testing.B) {
	for _, rows := range []int{1000, 10_000_000} {
		for _, spread := range []bool{false, true} {
			col, set := manyInts(rows, 1000, spread), manyInts(100, 1000, spread)
			defer col.Release()
			defer set.Release()
			opts := &compute.SetOptions{ValueSet: compute.NewDatumWithoutOwning(set)}
			against(b, fmt.Sprintf("spread=%t", spread), rows, "is_in", opts, compute.NewDatumWithoutOwning(col))
		}
	}
}

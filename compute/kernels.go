package compute

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// Kernels lists the GPU kernels of the element-wise functions, one for each element type, without the variants that
// nulls and pending lengths choose. msl.Keys adds those, and the kernels of everything else.
func Kernels() []msl.Key {
	var keys []msl.Key
	seen := map[msl.Key]bool{}
	for _, table := range [][]op{arithOps, compareOps, logicOps, nullOps} {
		for i := range table {
			o := &table[i]
			for t := msl.Bool; t <= msl.F64 && o.gpu.Value != ""; t++ {
				in := []arrow.DataType{plainTypes[t], plainTypes[t]}
				p, err := o.types(in[:o.arity])
				if err != nil || o.cpu[p.in] == nil {
					continue
				}
				k := msl.Key{Skeleton: msl.Map, Op: o.name, In: p.in, Out: p.result()}
				if !seen[k] {
					seen[k] = true
					keys = append(keys, k)
				}
			}
		}
	}
	return keys
}

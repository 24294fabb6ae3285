package compute

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// Kernels lists the GPU kernels of the element-wise functions and of casts, one for each element type, without the
// variants that nulls and pending lengths choose. msl.Keys adds those, and the kernels of everything else.
func Kernels() []msl.Key {
	var keys []msl.Key
	seen := map[msl.Key]bool{}
	add := func(o *op, p *plan) {
		k := msl.Key{Skeleton: msl.Map, Op: o.name, In: p.in, Out: p.result()}
		if k = msl.Canonical(k); !seen[k] {
			seen[k] = true
			keys = append(keys, k)
		}
	}
	for _, table := range tables {
		for i := range table {
			o := &table[i]
			for t := msl.Bool; t <= msl.F64 && o.gpu.Value != ""; t++ {
				in := make([]arrow.DataType, o.arity)
				for k := range in {
					in[k] = plainTypes[t]
					if f := o.gpu.Fixed[k]; f != msl.NoType {
						in[k] = plainTypes[f]
					}
				}
				p, err := o.types(in)
				if err == nil && o.cpu[p.in] != nil {
					add(o, p)
				}
			}
		}
	}
	for from := msl.Bool; from <= msl.F64; from++ {
		for to := msl.Bool; to <= msl.F64; to++ {
			if castOps[0][to].cpu[from] != nil || from == to {
				add(&castOps[0][to], &plan{in: from, out: plainTypes[to]})
			}
			if canFail(from, to) {
				add(&castOps[1][to], &plan{in: from, out: plainTypes[to]})
			}
		}
	}
	return keys
}

package msl_test

import (
	"github.com/broadhead-go/broadhead/compute"
	"github.com/broadhead-go/broadhead/msl"
)

// mapKeys lists the element-wise kernels of package compute, without flags.
func mapKeys() []msl.Key { return compute.Kernels() }

// unused are functions of the library, and forms of expressions, that package compute has no op for.
var unused = map[string]msl.Expr{
	"test_is_valid": {Value: "va", Valid: "true"},
}

func init() {
	for op, e := range unused {
		msl.Define(op, e)
	}
}

// unusedKeys lists the kernels of unused, for all types of numbers.
func unusedKeys() []msl.Key {
	var list []msl.Key
	for op := range unused {
		for t := msl.I8; t <= msl.F64; t++ {
			k := msl.Key{Skeleton: msl.Map, Op: op, In: t, Out: t}
			if op == "test_is_valid" {
				k.Out = msl.Bool
			}
			list = append(list, k)
		}
	}
	return list
}

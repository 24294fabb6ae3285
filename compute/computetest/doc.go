// Package computetest holds one table of cases that every path of package compute must pass: the CPU, and each GPU
// driver over its own and over foreign memory. [RunAll] runs the table on the path that a context chooses and compares
// with an oracle: plain Go over one boxed value at a time, with math/big for integers and for exact sums. The oracle
// shares no code with compute.
//
// Results are equal as compute defines it: type, length, validity, and valid values bit for bit, except that any NaN
// equals any NaN.
//
// # The grid
//
// Cases are a pairwise covering array: each pair of function, types, length, offset, null ratio, kind of values, shape
// and options occurs in some case. The array is made by a greedy generator with a fixed seed, so a case always has the
// same name and data, and the name that a failure prints runs it alone:
//
//	go test ./compute -run 'TestCPU/grid/add/int8/array-scalar/len=33/off=7/nulls=0.3/specials'
//
// Values under nulls are hostile: NaN, the smallest integer, zero divisors. Errors are part of a case; their class is
// compared by errors.Is.
//
// # Adding a function
//
// A function is added by adding a row to the table in table.go: its name, the types it is tried on, and its oracle,
// usually one of the combinators over a function of a row.
//
//	{Name: "xor", Types: bools2, Oracle: each(toBool, func(a, b any) (any, error) {
//		return a.(bool) != b.(bool), nil
//	})},
package computetest

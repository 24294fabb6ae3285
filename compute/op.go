package compute

import (
	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/msl"
)

// op is a row of a table: everything the engine knows of an element-wise function. A function is added by adding a row
// (and a row of tests).
type op struct {
	name  string
	arity int
	types typeRule
	nulls nullRule
	cpu   blockKernels // always there: the fallback and the oracle
	gpu   msl.Expr     // the same in MSL; an empty Value means CPU only
	cross crossClass
	// fail words the error of a run whose kernel reported one; nil: the status says it all.
	fail func(p *plan, o *op, r *run) error
	// long: the kernels take any number of rows, and compute with one value where operand.one says so if the result is
	// Bool.
	long bool
	doc  ac.FunctionDoc
	// options changes the plan by the call's options; nil: there are none.
	options func(opts FunctionOptions, p *plan) error
	// variant names the op that the options choose, if another; nil: always this one.
	variant func(opts FunctionOptions, in []arrow.DataType) (string, error)
	// more: the function takes one argument or more, and does with the first two what it does then with the third.
	more bool
	// any resolves calls for whose types there is no kernel; nil: arrow-go answers them, if it can.
	any func(o *op, in []arrow.DataType) (*call, error)
}

// tables hold every element-wise function.
var tables = [][]op{arithOps, bitOps, signOps, mathOps, roundOps, compareOps, logicOps, nullOps, chooseOps}

// opNamed is the row of a function.
func opNamed(name string) *op {
	for _, t := range tables {
		for i := range t {
			if t[i].name == name {
				return &t[i]
			}
		}
	}
	return nil
}

// typeRule says how a function computes over inputs of the given types. errNoKernel hands the call to arrow-go.
type typeRule func(in []arrow.DataType) (*plan, error)

// plan is what a typeRule decides: the casts before the kernel, the element type that the kernel works on, the result's
// type, and what follows the kernel.
type plan struct {
	casts [maxArgs][]arrow.DataType // per argument: the types to pass through, in order
	in    msl.Type
	out   arrow.DataType
	bound []scalar.Scalar // inputs of the kernel after the arguments, which options decide
	// fused are casts that the CPU does block by block, just before the kernel; their op is nil where there is none.
	fused [maxInputs]typeCast
	// validity makes the input's validity bitmap its values, of type Bool without nulls.
	validity bool
	raw      bool           // the result is of the kernel's input type in memory, whatever out says
	rounds   bool           // casts to float64 may round
	limit    int64          // results must lie in [0, limit); 0: no limit
	narrow   arrow.DataType // cast to this type at last; nil: none
}

// result is the element type that the kernel writes.
func (p *plan) result() msl.Type {
	if p.raw {
		return p.in
	}
	return storage(p.out)
}

// nullRule says where the result is null.
type nullRule uint8

const (
	// intersect: where any input is.
	intersect nullRule = iota
	// never: nowhere; the kernel sees validity as a value.
	never
	// computed: the kernel says where, as Kleene logic does.
	computed
	// every: where every input is.
	every
)

// blockKernels holds a kernel for each element type of the inputs; nil where there is none.
type blockKernels [msl.F64 + 1]blockKernel

// blockKernel computes the rows of one block.
type blockKernel func(b *block) cpu.Status

// blockRows is how many rows a block has at most: what two inputs and an output keep in the first-level cache.
const blockRows = 1024

// maxInputs is how many inputs a kernel has at most, maxArgs a call that a device takes.
const (
	maxInputs = 3
	maxArgs   = 8
)

// block is up to blockRows rows of an element-wise call, more for an op that takes long ones. Scalars are already
// repeated, but in long blocks.
type block struct {
	n   int
	in  [maxInputs]operand
	out []byte   // values of a typed result
	ow  []uint64 // values of a Bool result
	ov  []uint64 // validity, written by kernels of rule computed
	// nulls: somebody reads ov
	nulls bool
}

// operand is the rows of one input: typed kernels use values as a slice of their type, kernels over bits use words of
// 64 rows.
type operand struct {
	values []byte
	words  []uint64 // values of a Bool input
	valid  []uint64 // for kernels of other rules than intersect
	one    bool     // a scalar
}

// inputs is how many inputs the kernel has: the arguments and what options bind.
func (o *op) inputs(p *plan) int { return o.arity + len(p.bound) }

// columnType is the element type of an argument before fused casts, of which scalars have none.
func (o *op) columnType(p *plan, arg int, d Datum) msl.Type {
	if f := &p.fused[arg]; f.op != nil && d.Kind() != KindScalar {
		return f.plan.in
	}
	return o.typeOf(p, arg)
}

// typeOf is the element type of an input.
func (o *op) typeOf(p *plan, input int) msl.Type {
	if t := o.gpu.Fixed[input]; t != msl.NoType {
		return t
	}
	return p.in
}

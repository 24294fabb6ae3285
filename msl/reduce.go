package msl

// state describes the partial states of a reduction.
type state struct {
	Comment string
	Fields  []field
}

// field is one ulong of a state.
type field struct {
	Name  string
	Empty string // its value for no rows
	Merge string // adds b's to a's
}

// sumField is a field that adds up.
func sumField(name string) field {
	return field{name, "0ul", "a." + name + " += b." + name + ";"}
}

var (
	rowsField  = sumField("rows")
	validField = sumField("valid")

	exactState = state{"What the superaccumulator does not hold.",
		[]field{rowsField, validField, sumField("nan"), sumField("pos_inf"), sumField("neg_inf")}}
)

// states has the state of each Op of Reduce, in the order of abi.go.
var states = map[string]state{
	OpCount: {"Rows, and the valid ones among them.",
		[]field{rowsField, validField}},
	OpSum: {"The sum wraps.",
		[]field{rowsField, validField, sumField("sum")}},
	OpMean: {"The sum as a 128-bit integer.",
		[]field{rowsField, validField,
			{"high", "0ul", "a.high += b.high + (a.low + b.low < a.low ? 1ul : 0ul);"},
			sumField("low")}},
	OpMinMax: {"Extremes as order-preserving keys, of the rows that are not NaN.",
		[]field{rowsField, validField,
			{"smallest", "~0ul", "a.smallest = b.smallest < a.smallest ? b.smallest : a.smallest;"},
			{"largest", "0ul", "a.largest = b.largest > a.largest ? b.largest : a.largest;"},
			sumField("seen")}},
	OpBool: {"Rows that are true.",
		[]field{rowsField, validField, sumField("trues")}},
}

func describeReduce(k *kernel) error {
	in := k.Key.In
	var fits bool
	switch k.Op {
	case OpCount:
		fits = in == NoType
		k.ByWord = k.ANulls()
	case OpSum, OpMean:
		fits = in.integer()
		k.ByRow = true
	case OpMinMax:
		fits = in.integer() || in.float()
		k.ByRow = true
	case OpBool:
		fits = in == Bool
		k.ByWord = true
	default:
		return unsupported(k.Key, "the reduction is not known")
	}
	if !fits {
		return unsupported(k.Key, "the reduction does not take this type")
	}
	if err := k.allow(ANulls|Pending, true, in.known(), false); err != nil {
		return err
	}
	k.file, k.State = "reduce", states[k.Op]
	switch k.Op {
	case OpCount:
		k.Name = "count"
	case OpBool:
		k.Name = "count_true"
	default:
		k.Name = k.Op + "_" + k.In.Name
	}
	k.bindReduce(k.Op != OpCount)
	return nil
}

func describeExact(k *kernel) error {
	if !k.Key.In.float() || k.Op != OpSum {
		return unsupported(k.Key, "exact reductions sum floats")
	}
	if err := k.allow(ANulls|Pending, true, true, false); err != nil {
		return err
	}
	k.file, k.State = "exact", exactState
	if k.Caps&Float64 != 0 {
		k.file = "exact_native"
	}
	k.Name = "exact_sum_" + k.In.Name
	k.bindReduce(true)
	return nil
}

// bindReduce writes the parameters of a reduction and ends its name.
func (k *kernel) bindReduce(reads bool) {
	partials := "device ulong* partials"
	if k.file == "exact_native" {
		partials = "device atomic_ulong* partials"
	}
	k.Name += suffix(k.Key, 1)
	k.bind(ReduceParams{}, ReduceArgs,
		parameter{reads, ReduceIn, "device const " + k.In.Storage + "* in"},
		parameter{k.ANulls(), ReduceValid, "device const uint* valid"},
		parameter{true, ReducePartials, partials},
		parameter{k.Pending(), ReduceLen, "device const ulong* len"},
	)
}

// StateKey returns the reduction whose states a Finish key takes, without flags: of aggregate op over the type in.
func StateKey(finish Key) (Key, error) {
	k := Key{Skeleton: Reduce, In: finish.In}
	in := finish.In
	switch op := finish.Op; {
	case finish.Skeleton != Finish:
		return Key{}, unsupported(finish, "only Finish takes states")
	case counts(op):
		k.Op, k.In = OpCount, NoType
	case in == Bool && (op == "sum" || op == "mean" || op == "min" || op == "max" || op == "min_max" || op == "any" || op == "all"):
		k.Op = OpBool
	case (op == "sum" || op == "mean") && in.float():
		k.Skeleton, k.Op = ReduceExact, OpSum
	case op == "sum" && in.integer():
		k.Op = OpSum
	case op == "mean" && in.integer():
		k.Op = OpMean
	case (op == "min" || op == "max" || op == "min_max") && in.known():
		k.Op = OpMinMax
	default:
		return Key{}, unsupported(finish, "no aggregate of this name takes this type")
	}
	return k, nil
}

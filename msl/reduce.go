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
	fits := k.reduces(k.Op)
	if k.State.Fields == nil {
		return unsupported(k.Key, "the reduction is not known")
	}
	if !fits {
		return unsupported(k.Key, "the reduction does not take this type")
	}
	if err := k.allow(ANulls|Pending, true, in.known(), false); err != nil {
		return err
	}
	k.file = "reduce"
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

// reduces fills in how a reduction goes over rows, and says whether it takes the key's type.
func (k *kernel) reduces(op string) bool {
	in := k.Key.In
	k.State, k.Reduction = states[op], op
	switch op {
	case OpCount:
		k.ByWord = k.ANulls()
		return in == NoType
	case OpSum, OpMean:
		k.ByRow = true
		return in.integer()
	case OpMinMax:
		k.ByRow = true
		return in.integer() || in.float()
	case OpBool:
		k.ByWord = true
		return in == Bool
	}
	return false
}

// describeAggregate is of a reduction and the Finish of its only state.
func describeAggregate(k *kernel) error {
	finish := k.Key
	finish.Skeleton = Finish
	of, err := StateKey(finish)
	if err != nil || of.Skeleton != Reduce {
		return unsupported(k.Key, "no aggregate of one threadgroup takes this type")
	}
	if err := k.allow(ANulls|Pending, true, k.Key.In.known(), true); err != nil {
		return err
	}
	if want := FinishType(k.Op, k.Key.In); k.Key.Out != want {
		return unsupported(k.Key, "the result is "+want.String())
	}
	k.file = "aggregate"
	k.reduces(of.Op)
	k.Result = k.result()
	k.Name = "aggregate_" + k.Op
	if k.Key.In.known() {
		k.Name += "_" + k.In.Name
	}
	k.Name += suffix(k.Key, 1)
	out := "device " + k.Out.Storage + "* out"
	k.bind(AggregateParams{}, AggregateArgs,
		parameter{of.Op != OpCount, AggregateIn, "device const " + k.In.Storage + "* in"},
		parameter{k.ANulls(), AggregateValid, "device const uint* valid"},
		parameter{true, AggregateOut, out},
		parameter{true, AggregateOutValid, "device uint* out_valid"},
		parameter{k.Result.Value2 != "", AggregateOut2, out + "2"},
		parameter{k.Pending(), AggregateLen, "device const ulong* len"},
	)
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

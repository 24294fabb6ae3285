package msl

// result says how Finish makes an aggregate from the merged state s.
type result struct {
	Value  string
	Value2 string // the maximum of min_max
	Valid  string
}

// nullRule says when an aggregate is valid: enough valid rows, and no nulls unless they are skipped.
const nullRule = "s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows)"

// kleeneRule is nullRule where rows that decide outweigh nulls.
func kleeneRule(deciding string) string {
	return "s.valid >= (ulong)p.min_count && (p.skip_nulls != 0u || s.valid == s.rows || " + deciding + " != 0ul)"
}

func describeFinish(k *kernel) error {
	of, err := StateKey(k.Key)
	if err != nil {
		return err
	}
	in := k.Key.In
	if err := k.allow(0, true, in.known(), true); err != nil {
		return err
	}
	if want := FinishType(k.Op, in); k.Key.Out != want {
		return unsupported(k.Key, "the result is "+want.String())
	}
	k.file = "finish"
	if of.Skeleton == ReduceExact {
		k.file = "finish_exact"
	} else {
		k.State = states[of.Op]
		k.Result = k.result()
	}
	k.Name = "finish_" + k.Op
	if in.known() {
		k.Name += "_" + k.In.Name
	}
	k.Name += suffix(k.Key, 1)
	out := "device " + k.Out.Storage + "* out"
	k.bind(FinishParams{}, FinishArgs,
		parameter{true, FinishPartials, "device const ulong* partials"},
		parameter{true, FinishOut, out},
		parameter{true, FinishOutValid, "device uint* out_valid"},
		parameter{k.Result.Value2 != "", FinishOut2, out + "2"},
	)
	return nil
}

// FinishType is the type of an aggregate over a type: the Out of its Finish key.
func FinishType(op string, in Type) Type {
	switch op {
	case "count", "count_null", "count_all":
		return I64
	case "mean":
		return F64
	case "sum":
		switch {
		case in.float():
			return F64
		case in.integer() && types[in].Signed:
			return I64
		default:
			return U64
		}
	case "any", "all":
		return Bool
	default:
		return in
	}
}

// result returns the expressions of an aggregate over merged states.
func (k *kernel) result() result {
	boolean := k.Key.In == Bool
	switch k.Op {
	case "count":
		return result{Value: "s.valid", Valid: "true"}
	case "count_null":
		return result{Value: "s.rows - s.valid", Valid: "true"}
	case "count_all":
		return result{Value: "s.rows", Valid: "true"}
	case "any":
		return result{Value: "s.trues != 0ul", Valid: kleeneRule("s.trues")}
	case "all":
		return result{Value: "s.trues == s.valid", Valid: kleeneRule("(s.valid - s.trues)")}
	case "sum":
		if boolean {
			return result{Value: "s.trues", Valid: nullRule}
		}
		return result{Value: "s.sum", Valid: nullRule}
	case "mean":
		sum := "sf64_from_u128(s.high, s.low)"
		if boolean {
			sum = "sf64_from_ulong(s.trues)"
		} else if k.In.Signed {
			sum = "sf64_from_i128((long)s.high, s.low)"
		}
		return result{Value: "sf64_div(" + sum + ", sf64_from_ulong(s.valid))", Valid: nullRule}
	}
	smallest, largest := "from_order_key(s.smallest)", "from_order_key(s.largest)"
	switch {
	case boolean:
		smallest, largest = "s.trues == s.valid", "s.trues != 0ul"
	case k.In.Float:
		smallest = "s.seen != 0ul ? " + smallest + ".bits : QUIET_NAN"
		largest = "s.seen != 0ul ? " + largest + ".bits : QUIET_NAN"
	}
	r := result{Value: smallest, Valid: "s.valid != 0ul && " + nullRule}
	switch k.Op {
	case "max":
		r.Value = largest
	case "min_max":
		r.Value2 = largest
	}
	return r
}

package msl

// Cumulative sums: where threadgroups make progress by themselves CumulateLookback does all in one pass; elsewhere
// CumulateReduce, CumulateScan and CumulateApply do it in three.
//
// Sums are made in 64 bits and wrap; each row's is cut to the type. A null adds nothing and is null in the result; with
// Stops so is every row after it, in the chunks that follow too. Values under nulls of the result are unspecified.

// CumulateRows and LookbackRows are how many rows one threadgroup handles, a tile: in three passes, and in one, where
// larger tiles mean fewer that wait for each other.
const (
	CumulateRows = 8 * Threads
	LookbackRows = 16 * Threads
)

// Ops of the cumulative kernels.
const (
	OpCumulativeSum        = "cumulative_sum"
	OpCumulativeSumChecked = "cumulative_sum_checked"
)

// Buffers of the cumulative kernels. CumulateReduce has In, Valid, Len and States; CumulateScan States, Carry and Next;
// CumulateApply all but Carry and Next; CumulateLookback all. Valid and OutValid exist with ANulls, Err where the op is
// checked. States has CumulateStates words for each tile, of a kernel of this recording, and for CumulateLookback one more
// word; all are zeros before that. Carry and Next have CumulateStates words: where the chunk before ended, and where this
// one does.
const (
	CumulateIn = iota
	CumulateValid
	CumulateOut
	CumulateOutValid
	CumulateErr
	CumulateLen
	CumulateStatesAt
	CumulateCarry
	CumulateNext
	CumulateArgs
	CumulateBindings
)

// CumulateStates is the size of a state in ulongs: a sum, and whether a null came before.
const CumulateStates = 2

// CumulateParams are the parameters of the cumulative kernels. GoesOn: the chunk begins with Carry, else with Start, the
// 64 bits of a value, sign-extended.
type CumulateParams struct {
	N      uint64
	Off    uint64
	Valid  uint64
	Start  uint64
	Tiles  uint32
	Stops  uint32
	GoesOn uint32
	Pad    uint32
}

// What the skeletons name. Each is how many rows a thread adds up: a part of a word of validity.
func (k kernel) Lookback() bool { return k.Skeleton == CumulateLookback }
func (k kernel) Each() int      { return k.TileRows() / Threads }
func (k kernel) SimdRows() int  { return 32 * k.Each() }
func (k kernel) LastOfWord() int {
	return 32/k.Each() - 1
}

func (k kernel) TileRows() int {
	if k.Lookback() {
		return LookbackRows
	}
	return CumulateRows
}

func describeCumulate(k *kernel) error {
	if k.Op != OpCumulativeSum && k.Op != OpCumulativeSumChecked {
		return unsupported(k.Key, "the cumulative function is not known")
	}
	if err := k.allow(ANulls|Pending, true, true, false); err != nil {
		return err
	}
	if !k.Key.In.integer() {
		return unsupported(k.Key, "cumulative kernels take integers: sums of floats depend on the order")
	}
	k.file, k.Fails, k.HasOutValid = "cumulate", k.Op == OpCumulativeSumChecked, k.ANulls()
	k.Name = k.Op + "_" + k.In.Name + suffix(k.Key, 1)
	states := "device const ulong* states"
	if k.Lookback() {
		k.Name, states = k.Name+"_lookback", "device atomic_ulong* states"
	}
	k.bindCumulate(true, states,
		parameter{true, CumulateOut, "device " + k.In.Storage + "* out"},
		parameter{k.HasOutValid, CumulateOutValid, "device uint* out_valid"},
		parameter{k.Fails, CumulateErr, "device atomic_uint* error"},
		parameter{k.Lookback(), CumulateCarry, "device const ulong* carry"},
		parameter{k.Lookback(), CumulateNext, "device ulong* next"},
	)
	return nil
}

func describeCumulateReduce(k *kernel) error {
	if err := k.allow(ANulls|Pending, false, true, false); err != nil {
		return err
	}
	if !k.Key.In.integer() {
		return unsupported(k.Key, "cumulative kernels take integers: sums of floats depend on the order")
	}
	k.file, k.Name = "cumulate_reduce", "cumulate_reduce_"+k.In.Name+suffix(k.Key, 1)
	k.bindCumulate(true, "device ulong* states")
	return nil
}

func describeCumulateScan(k *kernel) error {
	if err := k.allow(0, false, false, false); err != nil {
		return err
	}
	k.file, k.Name = "cumulate_scan", "cumulate_scan"
	k.bindCumulate(false, "device ulong* states",
		parameter{true, CumulateCarry, "device const ulong* carry"},
		parameter{true, CumulateNext, "device ulong* next"},
	)
	return nil
}

// bindCumulate writes the parameters: those of the rows, if the kernel reads any, the states, and what else there is.
func (k *kernel) bindCumulate(rows bool, states string, more ...parameter) {
	k.bind(CumulateParams{}, CumulateArgs, append([]parameter{
		{rows, CumulateIn, "device const " + k.In.Storage + "* in"},
		{rows && k.ANulls(), CumulateValid, "device const uint* valid"},
		{rows && k.Pending(), CumulateLen, "device const ulong* len"},
		{true, CumulateStatesAt, states},
	}, more...)...)
}

// cumulations lists the keys of the cumulative kernels.
func cumulations() []Key {
	list := []Key{{Skeleton: CumulateScan}}
	for t := I8; t <= U64; t++ {
		for _, f := range variants(ANulls|Pending, 0) {
			list = append(list, Key{Skeleton: CumulateReduce, In: t, Flags: f})
			for _, op := range []string{OpCumulativeSum, OpCumulativeSumChecked} {
				list = append(list, Key{Skeleton: CumulateApply, Op: op, In: t, Flags: f},
					Key{Skeleton: CumulateLookback, Op: op, In: t, Flags: f})
			}
		}
	}
	return list
}

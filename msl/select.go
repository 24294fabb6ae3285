package msl

// FillWords is how many 32-bit words one threadgroup of Fill writes.
const FillWords = 8 * Threads

func describeCount(k *kernel) error {
	if err := k.allow(ANulls|EmitNull|Pending, false, false, false); err != nil {
		return err
	}
	if k.EmitNull() && !k.ANulls() {
		return unsupported(k.Key, "without validity no row is selected by a null")
	}
	k.file, k.Name = "compact_count", "compact_count"+suffix(k.Key, 1)
	k.bind(CountParams{}, CountArgs,
		parameter{true, CountMask, "device const uint* mask"},
		parameter{k.ANulls(), CountMaskValid, "device const uint* mask_valid"},
		parameter{true, CountSelection, "device uint* selection"},
		parameter{true, CountCounts, "device uint* counts"},
		parameter{k.Pending(), CountLen, "device const ulong* len"},
	)
	return nil
}

func describeScan(k *kernel) error {
	if err := k.allow(0, false, false, false); err != nil {
		return err
	}
	k.file, k.Name = "compact_scan", "compact_scan"
	k.bind(ScanParams{}, ScanArgs,
		parameter{true, ScanCounts, "device const uint* counts"},
		parameter{true, ScanOffsets, "device ulong* offsets"},
		parameter{true, ScanTotal, "device ulong* total"},
	)
	return nil
}

func describeScatter(k *kernel) error {
	if err := k.allow(0, false, true, false); err != nil {
		return err
	}
	if !moved(k.Key.In) {
		return unsupported(k.Key, "elements move as bool or as unsigned integers")
	}
	out := "device " + k.In.Storage + "* out"
	if k.In.Packed() {
		out = "device atomic_uint* out"
	}
	k.file, k.Name = "compact_scatter", "compact_scatter_"+k.In.Name
	k.bind(ScatterParams{}, ScatterArgs,
		parameter{true, ScatterIn, "device const " + k.In.Storage + "* in"},
		parameter{true, ScatterSelection, "device const uint* selection"},
		parameter{true, ScatterOffsets, "device const ulong* offsets"},
		parameter{true, ScatterOut, out},
	)
	return nil
}

func describeGather(k *kernel) error {
	if err := k.allow(ANulls|BNulls|Pending, false, true, true); err != nil {
		return err
	}
	if !k.Key.In.integer() || !moved(k.Key.Out) {
		return unsupported(k.Key, "indexes are integers, and elements move as bool or as unsigned integers")
	}
	k.HasOutValid = HasOutValid(k.Key)
	k.file, k.Name = "gather", "gather_"+k.In.Name+"_"+k.Out.Name+suffix(k.Key, 2)
	k.bind(GatherParams{}, GatherArgs,
		parameter{true, GatherIndex, "device const " + k.In.Storage + "* index"},
		parameter{k.ANulls(), GatherValid, "device const uint* valid"},
		parameter{true, GatherDict, "device const " + k.Out.Storage + "* dict"},
		parameter{k.BNulls(), GatherDictValid, "device const uint* dict_valid"},
		parameter{true, GatherOut, "device " + k.Out.Storage + "* out"},
		parameter{k.HasOutValid, GatherOutValid, "device uint* out_valid"},
		parameter{true, GatherErr, "device atomic_uint* error"},
		parameter{k.Pending(), GatherLen, "device const ulong* len"},
	)
	return nil
}

func describeFill(k *kernel) error {
	if err := k.allow(0, false, false, false); err != nil {
		return err
	}
	k.file, k.Name = "fill", "fill"
	k.bind(FillParams{}, FillArgs, parameter{true, FillOut, "device uint* out"})
	return nil
}

// moved says whether elements of type t are moved as such: kernels that copy know widths, not meanings.
func moved(t Type) bool {
	return t == Bool || t == U8 || t == U16 || t == U32 || t == U64
}

// Groups returns how many threadgroups a kernel of this key needs for n rows (words for Fill, states for Finish, tiles
// for CompactScan).
func Groups(k Key, n uint64) uint64 {
	each := uint64(1)
	switch k.Skeleton {
	case Map, Gather, Member:
		each = MapRows
	case Fill:
		each = FillWords
	case CumulateReduce, CumulateApply:
		each = CumulateRows
	case CumulateLookback:
		each = LookbackRows
	case Reduce, ReduceExact:
		return min(max(groupsOf(n, Tile), 1), MaxGroups)
	case CompactCount, CompactScatter:
		each = Tile
	default:
		return 1
	}
	return groupsOf(n, each)
}

func groupsOf(n, each uint64) uint64 {
	groups := n / each
	if n%each != 0 {
		groups++
	}
	return groups
}

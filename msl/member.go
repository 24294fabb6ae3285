package msl

// MaxSet is how many values a set of Member has at most, one for each thread that brings it near.
const MaxSet = Threads

// Buffers of Member. In is the unsigned type of the values' width, or the float type. Valid exists with ANulls, OutValid
// with EmitNull.
const (
	MemberIn = iota
	MemberValid
	MemberOut
	MemberOutValid
	MemberLen
	MemberArgs
	MemberBindings
)

// MemberParams are the parameters of Member. A stride of 0 makes the values a scalar. Set has Size values as bit patterns,
// in ascending order, the last one repeated until Size is a power of two, and NaN as OneNaN32 or OneNaN64; Size is 0 if
// there are none. Where NullFound is not 0 nulls are in the set; where OnlyFound is not 0 the rows that are not in it are
// null.
type MemberParams struct {
	N         uint64
	Off       uint64
	Valid     uint64
	Set       [MaxSet]uint64
	Stride    uint32
	Size      uint32
	NullFound uint32
	OnlyFound uint32
}

// The bit patterns that stand for every NaN in the set of a Member.
const (
	OneNaN32 uint32 = 0x7fc00000
	OneNaN64 uint64 = 0x7ff8000000000001
)

func describeMember(k *kernel) error {
	if err := k.allow(ANulls|EmitNull|Pending, false, true, false); err != nil {
		return err
	}
	if !k.Key.In.float() && (!moved(k.Key.In) || k.Key.In == Bool) {
		return unsupported(k.Key, "values are told apart by their patterns")
	}
	k.file, k.Name, k.Wide = "member", "member_"+k.In.Name+suffix(k.Key, 1), "uint"
	switch {
	case k.Key.In == F32:
		k.NaN, k.OneNaN = "(a & 0x7fffffffu) > 0x7f800000u", "0x7fc00000u"
	case k.Key.In == F64:
		k.NaN, k.OneNaN = "(a & 0x7ffffffffffffffful) > 0x7ff0000000000000ul", "0x7ff8000000000001ul"
	}
	if k.In.bits == 64 {
		k.Wide = "ulong"
	}
	k.bind(MemberParams{}, MemberArgs,
		parameter{true, MemberIn, "device const " + k.In.Storage + "* in"},
		parameter{k.ANulls(), MemberValid, "device const uint* valid"},
		parameter{true, MemberOut, "device uint* out"},
		parameter{k.EmitNull(), MemberOutValid, "device uint* out_valid"},
		parameter{k.Pending(), MemberLen, "device const ulong* len"},
	)
	return nil
}

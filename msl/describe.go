package msl

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode"
)

// kernel is what a skeleton's template sees. Fields with capitals are used there.
type kernel struct {
	Key
	Name        string
	In, Out     typeInfo
	Rows        string // the number of rows
	Parameters  string
	HasOutValid bool

	// Map
	Inputs       []input
	Value, Valid string
	Fails        bool

	// Reductions
	State     state
	Reduction string // whose states they are
	ByWord    bool   // a thread takes 32 rows, else one
	ByRow     bool
	Result    result

	// Member
	Wide        string // the type that values are compared in
	NaN, OneNaN string // what a NaN is, and the pattern of all

	file  string   // the skeleton
	args  any      // the struct of parameters
	roots []string // operators and functions of the op's expression
}

// The constants that skeletons name.
func (kernel) Threads() int    { return Threads }
func (kernel) MapRows() int    { return MapRows }
func (kernel) Tile() int       { return Tile }
func (kernel) MaxSet() int     { return MaxSet }
func (kernel) FillWords() int  { return FillWords }
func (kernel) ExactWords() int { return ExactDigit0 + ExactDigits }

// Slices is how many slices of 42 bits a number is split into: what reaches from the largest of many numbers to the last
// bits of the smaller ones, as far as that is common.
func (k kernel) Slices() int {
	if k.Key.In == F32 {
		return 2
	}
	return 3
}

func (kernel) ExactDigits() int { return ExactDigits }
func (kernel) ExactDigit0() int { return ExactDigit0 }
func (kernel) ExactNaN() int    { return ExactNaN }
func (kernel) ExactPosInf() int { return ExactPosInf }
func (kernel) ExactNegInf() int { return ExactNegInf }

func (k kernel) ANulls() bool   { return k.Flags&ANulls != 0 }
func (k kernel) BNulls() bool   { return k.Flags&BNulls != 0 }
func (k kernel) CNulls() bool   { return k.Flags&CNulls != 0 }
func (k kernel) Pending() bool  { return k.Flags&Pending != 0 }
func (k kernel) EmitNull() bool { return k.Flags&EmitNull != 0 }

// describe checks a key and fills in what its skeleton needs.
func describe(key Key) (*kernel, error) {
	if int(key.Skeleton) >= len(describers) || describers[key.Skeleton] == nil {
		return nil, unsupported(key, "no such skeleton")
	}
	k := &kernel{Key: key, Rows: "p.n"}
	if key.In.known() {
		k.In = types[key.In]
	}
	if key.Out.known() {
		k.Out = types[key.Out]
	}
	if k.Pending() {
		k.Rows = "len[0] < p.n ? len[0] : p.n"
	}
	if err := describers[key.Skeleton](k); err != nil {
		return nil, err
	}
	return k, nil
}

var describers = [...]func(*kernel) error{
	Map:            describeMap,
	Reduce:         describeReduce,
	ReduceExact:    describeExact,
	Finish:         describeFinish,
	CompactCount:   describeCount,
	CompactScan:    describeScan,
	CompactScatter: describeScatter,
	Gather:         describeGather,
	Fill:           describeFill,

	CumulateLookback: describeCumulate,
	CumulateReduce:   describeCumulateReduce,
	CumulateScan:     describeCumulateScan,
	CumulateApply:    describeCumulate,

	Aggregate: describeAggregate,
	Member:    describeMember,
}

// unsupported is the error for a key that has no kernel.
func unsupported(k Key, why string) error {
	return fmt.Errorf("msl: no kernel for %s %q, %s to %s, flags %#x: %s", k.Skeleton, k.Op, k.In, k.Out, uint8(k.Flags), why)
}

// allow fails when a key has other flags, or an op, types where it must not.
func (k *kernel) allow(flags Flags, op bool, in, out bool) error {
	switch {
	case k.Flags&^flags != 0:
		return unsupported(k.Key, "a flag means nothing here")
	case !op && k.Op != "":
		return unsupported(k.Key, "it has no op")
	case in != k.Key.In.known():
		return unsupported(k.Key, "wrong input type")
	case out != k.Key.Out.known():
		return unsupported(k.Key, "wrong output type")
	}
	return nil
}

// parameter is one buffer of a kernel.
type parameter struct {
	when        bool
	index       int
	declaration string
}

// bind writes the kernel's parameters: the buffers it has, the struct, and the positions.
func (k *kernel) bind(args any, argsIndex int, buffers ...parameter) {
	k.args = args
	buffers = append(buffers, parameter{true, argsIndex, "constant Args& p"})
	slices.SortStableFunc(buffers, func(a, b parameter) int { return a.index - b.index })
	var lines []string
	for _, b := range buffers {
		if b.when {
			lines = append(lines, fmt.Sprintf("    %s [[buffer(%d)]]", b.declaration, b.index))
		}
	}
	lines = append(lines,
		"    uint3 tg [[threadgroup_position_in_grid]]",
		"    uint lane [[thread_index_in_simdgroup]]",
		"    uint sg [[simdgroup_index_in_threadgroup]]")
	k.Parameters = strings.Join(lines, ",\n")
}

// argsStruct spells a struct of parameters in MSL. Go and MSL lay it out alike: its fields are of 8 bytes, then of 4.
func argsStruct(args any) string {
	t := reflect.TypeOf(args)
	var b strings.Builder
	b.WriteString("struct Args {\n")
	for i := range t.NumField() {
		f := t.Field(i)
		of, word, many := f.Type, "uint", ""
		if of.Kind() == reflect.Array {
			of, many = of.Elem(), fmt.Sprintf("[%d]", of.Len())
		}
		if of.Size() == 8 {
			word = "ulong"
		}
		fmt.Fprintf(&b, "    %s %s%s;\n", word, snake(f.Name), many)
	}
	b.WriteString("};\n")
	return b.String()
}

// snake turns a field's name into MSL's: AOff to a_off, MinCount to min_count.
func snake(name string) string {
	var b strings.Builder
	r := []rune(name)
	for i, c := range r {
		if i > 0 && unicode.IsUpper(c) && (unicode.IsLower(r[i-1]) || i+1 < len(r) && unicode.IsLower(r[i+1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}

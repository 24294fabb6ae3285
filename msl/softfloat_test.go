package msl

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/big"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// softOracle is what the host's own arithmetic says about a pair. Columns are
// named for messages; a column with nan set holds patterns of that format, of
// which any NaN equals any other.
type softOracle struct {
	format  softFormat
	names   []string
	results func(p softPair, want []uint64)
}

var softOracle64 = softOracle{
	format: softBinary64,
	names: []string{"add", "sub", "mul", "div", "compare", "from_long", "from_ulong",
		"from_float_bits", "to_float_bits", "from_u128", "from_i128", "sqrt", "to_long", "to_ulong", "float_of_long", "float_of_ulong"},
	results: func(p softPair, want []uint64) {
		a, b := math.Float64frombits(p.a), math.Float64frombits(p.b)
		want[0] = math.Float64bits(a + b)
		want[1] = math.Float64bits(a - b)
		want[2] = math.Float64bits(a * b)
		want[3] = math.Float64bits(a / b)
		want[4] = softCompare(a, b)
		want[5] = math.Float64bits(float64(int64(p.a)))
		want[6] = math.Float64bits(float64(p.a))
		want[7] = math.Float64bits(float64(math.Float32frombits(uint32(p.a))))
		want[8] = uint64(math.Float32bits(float32(a)))
		want[9] = softWide(new(big.Int).SetUint64(p.a), p.b)
		want[10] = softWide(big.NewInt(int64(p.a)), p.b)
		want[11] = math.Float64bits(math.Sqrt(a))
		want[12] = uint64(softTruncate(a, -0x1p63, 0x1p63-1).Int64())
		want[13] = softTruncate(a, 0, 0x1p64-1).Uint64()
		want[14] = uint64(math.Float32bits(float32(int64(p.a))))
		want[15] = uint64(math.Float32bits(float32(p.a)))
	},
}

var softOracle32 = softOracle{
	format: softBinary32,
	names:  []string{"add", "sub", "mul", "div", "sqrt"},
	results: func(p softPair, want []uint64) {
		a, b := math.Float32frombits(uint32(p.a)), math.Float32frombits(uint32(p.b))
		want[0] = uint64(math.Float32bits(a + b))
		want[1] = uint64(math.Float32bits(a - b))
		want[2] = uint64(math.Float32bits(a * b))
		want[3] = uint64(math.Float32bits(a / b))
		want[4] = uint64(math.Float32bits(float32(math.Sqrt(float64(a)))))
	},
}

// softTruncate is the integer next to a on the way to zero, within limits; low and high are exact as written.
func softTruncate(a, low float64, high big.Word) *big.Int {
	least, most := new(big.Int), new(big.Int).SetUint64(uint64(high))
	big.NewFloat(low).Int(least)
	switch {
	case a != a:
		return new(big.Int)
	case math.IsInf(a, 1):
		return most
	case math.IsInf(a, -1):
		return least
	}
	whole := new(big.Int)
	big.NewFloat(a).Int(whole)
	if whole.Cmp(least) < 0 {
		return least
	}
	if whole.Cmp(most) > 0 {
		return most
	}
	return whole
}

// softCompare packs lt, le, eq, isnan(a) and the order of the total keys.
func softCompare(a, b float64) uint64 {
	total := func(x float64) int64 {
		i := int64(math.Float64bits(x))
		return i ^ int64(uint64(i>>63)>>1)
	}
	var word uint64
	for i, holds := range []bool{a < b, a <= b, a == b, a != a, total(a) < total(b)} {
		if holds {
			word |= 1 << i
		}
	}
	return word
}

// softWide rounds hi*2^64 + lo.
func softWide(hi *big.Int, lo uint64) uint64 {
	hi.Lsh(hi, 64)
	hi.Add(hi, new(big.Int).SetUint64(lo))
	f, _ := new(big.Float).SetInt(hi).Float64()
	return math.Float64bits(f)
}

// equal compares column i of two results.
func (o softOracle) equal(i int, got, want uint64) bool {
	if got == want {
		return true
	}
	f := o.format
	switch o.names[i] {
	case "compare", "to_long", "to_ulong":
		return false
	case "to_float_bits", "float_of_long", "float_of_ulong":
		f = softBinary32
	}
	inf := uint64(f.special()) << f.frac
	return got&^f.sign() > inf && want&^f.sign() > inf
}

// check runs pairs through the program and compares every column.
func (o softOracle) check(t *testing.T, program, text, mode string, pairs []softPair) {
	t.Helper()
	size := int(o.format.width()) / 8
	word := func(b []byte) uint64 {
		if size == 4 {
			return uint64(binary.NativeEndian.Uint32(b))
		}
		return binary.NativeEndian.Uint64(b)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, text, fmt.Sprint(o.format.width()), mode)
	cmd.Stdin = &softReader{pairs: pairs, size: size}
	var complaint strings.Builder
	cmd.Stderr = &complaint
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	results := bufio.NewReaderSize(stdout, 1<<20)
	row := make([]byte, size*len(o.names))
	want := make([]uint64, len(o.names))
	wrong := 0
	for _, p := range pairs {
		if _, err := io.ReadFull(results, row); err != nil {
			t.Errorf("results ended early: %v", err)
			break
		}
		o.results(p, want)
		for i, name := range o.names {
			if got := word(row[i*size:]); !o.equal(i, got, want[i]) && wrong < 10 {
				wrong++
				t.Errorf("%s %s %s(%#x, %#x) = %#x, want %#x", text, mode, name, p.a, p.b, got, want[i])
			}
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s %s: %v\n%s", text, mode, err, complaint.String())
	}
}

// softReader streams pairs as native words of size bytes.
type softReader struct {
	pairs []softPair
	size  int
}

func (r *softReader) Read(b []byte) (int, error) {
	if len(r.pairs) == 0 {
		return 0, io.EOF
	}
	n := 0
	for ; len(r.pairs) > 0 && n+2*r.size <= len(b); n += 2 * r.size {
		p := r.pairs[0]
		r.pairs = r.pairs[1:]
		if r.size == 4 {
			binary.NativeEndian.PutUint32(b[n:], uint32(p.a))
			binary.NativeEndian.PutUint32(b[n+4:], uint32(p.b))
			continue
		}
		binary.NativeEndian.PutUint64(b[n:], p.a)
		binary.NativeEndian.PutUint64(b[n+8:], p.b)
	}
	return n, nil
}

// softRandom gives n pairs of each kind.
func softRandom(f softFormat, n int, seed uint64) []softPair {
	r := rand.New(rand.NewPCG(seed, 754))
	kinds := len(softKinds)
	pairs := make([]softPair, 0, n*(kinds+len(softNumbers)))
	for range n {
		for _, kind := range softKinds {
			p := kind(f, r)
			pairs = append(pairs, softPair{p.a & f.mask(), p.b & f.mask()})
		}
		if f == softBinary64 {
			for _, kind := range softNumbers {
				pairs = append(pairs, kind(r))
			}
		}
	}
	return pairs
}

// TestSoftFloatEdges crosses every class of value, with undefined behaviour
// (overlong shifts, signed overflow) trapped.
func TestSoftFloatEdges(t *testing.T) {
	program := buildSoftFloat(t, "-O1", "-fsanitize=undefined", "-fsanitize-undefined-trap-on-error")
	for _, mode := range []string{"keep", "flush"} {
		softOracle64.check(t, program, "soft", mode, softBinary64.edges())
		softOracle32.check(t, program, "soft", mode, softBinary32.edges())
	}
	softOracle64.check(t, program, "native", "keep", softBinary64.edges())
	softOracle32.check(t, program, "native", "keep", softBinary32.edges())
}

// TestSoftFloatRandom compares the texts with the host on random operands; the
// soft text runs where float and double flush subnormals.
func TestSoftFloatRandom(t *testing.T) {
	program := buildSoftFloat(t, "-O2")
	rows := []struct {
		oracle     softOracle
		text, mode string
		perKind    int
	}{
		{softOracle64, "soft", "flush", 200_000},
		{softOracle32, "soft", "flush", 220_000},
		{softOracle64, "native", "keep", 10_000},
		{softOracle32, "native", "keep", 10_000},
	}
	for i, row := range rows {
		pairs := softRandom(row.oracle.format, row.perKind, uint64(i))
		row.oracle.check(t, program, row.text, row.mode, pairs)
	}
}

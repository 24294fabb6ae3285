//go:build linux && (amd64 || arm64)

package msl_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/msl"
)

// softRows is how many pairs one thread of a test kernel takes.
const softRows = 64

// softColumns are the kernels' result columns, in the order of the oracles.
var (
	softColumns64 = []string{
		"sf64_add(a, b)", "sf64_sub(a, b)", "sf64_mul(a, b)", "sf64_div(a, b)",
		"(ulong)sf64_lt(a, b) | (ulong)sf64_le(a, b) << 1 | (ulong)sf64_eq(a, b) << 2 | (ulong)sf64_isnan(a) << 3 |" +
			" (ulong)(sf64_total_key(a) < sf64_total_key(b)) << 4",
		"sf64_from_long((long)a)", "sf64_from_ulong(a)", "sf64_from_float_bits((uint)a)", "(ulong)sf64_to_float_bits(a)",
		"sf64_from_u128(a, b)", "sf64_from_i128((long)a, b)", "sf64_sqrt(a)",
		"(ulong)sf64_to_long(a)", "sf64_to_ulong(a)", "(ulong)sf32_from_long((long)a)", "(ulong)sf32_from_ulong(a)",
	}
	softColumns32 = []string{"sf32_add(a, b)", "sf32_sub(a, b)", "sf32_mul(a, b)", "sf32_div(a, b)", "sf32_sqrt(a)"}
	// What the device's own float makes of the operands: it flushes subnormals.
	floatColumns = []string{"as_type<uint>(as_type<float>(a) + as_type<float>(b))", "as_type<uint>(as_type<float>(a) * as_type<float>(b))"}
)

// softKernel evaluates columns over words of a type; column c of row i goes to out[c * n + i].
func softKernel(t *testing.T, d gpu.Device, word, library string, columns []string) gpu.Pipeline {
	t.Helper()
	var body strings.Builder
	for c, column := range columns {
		fmt.Fprintf(&body, "        out[%dul * n + i] = %s;\n", c, column)
	}
	text := "#include <metal_stdlib>\nusing namespace metal;\n" + library + strings.NewReplacer("WORD", word, "BODY", body.String(),
		"ROWS", fmt.Sprint(softRows)).Replace(`
kernel void soft(device const WORD* in [[buffer(0)]], device WORD* out [[buffer(1)]], constant ulong& n [[buffer(2)]],
                 uint tid [[thread_position_in_grid]]) {
    for (uint r = 0; r < ROWSu; r++) {
        ulong i = (ulong)tid * ROWSul + r;
        if (i >= n) return;
        WORD a = in[2ul * i], b = in[2ul * i + 1ul];
BODY    }
}
`)
	p, err := d.Compile(gpu.Source{Name: "soft", Text: text})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Release)
	return p
}

// softEmulator opens the emulator and compiles kernels with checks or, for long runs, without.
func softEmulator(t *testing.T, checked bool) (d gpu.Device) {
	t.Helper()
	d, err := gpu.Open("emulator")
	if err != nil {
		t.Fatal(err)
	}
	if !checked {
		emulator.SetOption("sanitize", 0)
		t.Cleanup(func() { emulator.SetOption("sanitize", 1) })
	}
	return d
}

// softRun evaluates a kernel over pairs; the result is column by column.
func softRun[W uint32 | uint64](t *testing.T, d gpu.Device, p gpu.Pipeline, columns int, pairs []msl.SoftPair) []W {
	t.Helper()
	size := int(unsafe.Sizeof(W(0)))
	buffer := func(words int) (gpu.Buffer, []W) {
		b, err := d.Alloc(words*size, gpu.Shared)
		if err != nil {
			t.Fatal(err)
		}
		return b, unsafe.Slice((*W)(unsafe.Pointer(&b.Host()[0])), words)
	}
	in, operands := buffer(2 * len(pairs))
	defer in.Release()
	for i, p := range pairs {
		operands[2*i], operands[2*i+1] = W(p.A), W(p.B)
	}
	out, results := buffer(columns * len(pairs))
	defer out.Release()
	n := binary.NativeEndian.AppendUint64(nil, uint64(len(pairs)))
	threads := (len(pairs) + softRows - 1) / softRows
	c := d.Commands()
	c.Dispatch(p, (threads+msl.Threads-1)/msl.Threads, msl.Threads, []gpu.Arg{{Buf: in}, {Buf: out}, {Bytes: n}})
	e, err := c.Commit()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return append([]W(nil), results...)
}

// softCompare compares results with what the oracle says, parts at a time.
func softCompare[W uint32 | uint64](t *testing.T, o msl.SoftOracle, pairs []msl.SoftPair, got []W) {
	t.Helper()
	const part = 1 << 15
	var wg sync.WaitGroup
	for begin := 0; begin < len(pairs); begin += part {
		wg.Go(func() {
			want := make([]uint64, len(o.Names))
			for i := begin; i < min(begin+part, len(pairs)); i++ {
				o.Want(pairs[i], want)
				for c := range want {
					if g := uint64(got[c*len(pairs)+i]); !o.Equal(c, g, want[c]) {
						t.Errorf("%s(%#x, %#x) = %#x, want %#x", o.Names[c], pairs[i].A, pairs[i].B, g, want[c])
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// The software arithmetic agrees with the host bit for bit on all classes of values and on 10,000,000 random pairs an
// operation (1,000,000 with -short), where float32 flushes subnormals.
func TestSoftFloatOnEmulator(t *testing.T) {
	const chunk = 1 << 18
	total := 10_000_000
	if testing.Short() {
		total = 1_000_000
	}
	binary64, binary32 := msl.SoftOracles()
	d := softEmulator(t, false)
	t.Run("binary64", func(t *testing.T) {
		softCheck[uint64](t, d, "ulong", softColumns64, binary64, total, chunk)
	})
	t.Run("binary32", func(t *testing.T) {
		softCheck[uint32](t, d, "uint", softColumns32, binary32, total, chunk)
	})
}

func softCheck[W uint32 | uint64](t *testing.T, d gpu.Device, word string, columns []string, o msl.SoftOracle, total, chunk int) {
	p := softKernel(t, d, word, msl.SoftFloat64(), columns)
	edges := o.Edges()
	softCompare(t, o, edges, softRun[W](t, d, p, len(columns), edges))
	for seed := uint64(0); total > 0 && !t.Failed(); seed++ {
		pairs := o.Random(min(chunk, total), seed)
		softCompare(t, o, pairs, softRun[W](t, d, p, len(columns), pairs))
		total -= len(pairs)
	}
}

// The same text under the emulator's checks: a division by zero, a misaligned access or a race would fail the launch.
func TestSoftFloatChecked(t *testing.T) {
	checkFew(t, softEmulator(t, true), msl.SoftFloat64())
}

// The text for devices with double, on the emulator's profile that has it.
func TestNativeFloatOnWideProfile(t *testing.T) {
	devices, err := emulator.OpenWide()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := devices[0].Close(); err != nil {
			t.Error(err)
		}
	})
	checkFew(t, devices[0], msl.NativeFloat64())
}

// checkFew compares a text with the oracles on a sample of the edges and on some random pairs.
func checkFew(t *testing.T, d gpu.Device, text string) {
	t.Helper()
	const few = 1 << 14
	binary64, binary32 := msl.SoftOracles()
	p64 := softKernel(t, d, "ulong", text, softColumns64)
	for _, pairs := range [][]msl.SoftPair{sample(binary64.Edges(), few), binary64.Random(few, 64)} {
		softCompare(t, binary64, pairs, softRun[uint64](t, d, p64, len(softColumns64), pairs))
	}
	p32 := softKernel(t, d, "uint", text, softColumns32)
	for _, pairs := range [][]msl.SoftPair{sample(binary32.Edges(), few), binary32.Random(few, 32)} {
		softCompare(t, binary32, pairs, softRun[uint32](t, d, p32, len(softColumns32), pairs))
	}
}

// sample takes about n of the pairs, evenly.
func sample(pairs []msl.SoftPair, n int) []msl.SoftPair {
	var list []msl.SoftPair
	for i := 0; i < len(pairs); i += max(1, len(pairs)/n) {
		list = append(list, pairs[i])
	}
	return list
}

// The test above means something: where an operand or the result has the exponent 0 the device's own float32 is wrong,
// and the software arithmetic right.
func TestSoftFloatSubnormalsTakeTheIntegerPath(t *testing.T) {
	_, binary32 := msl.SoftOracles()
	pairs := []msl.SoftPair{
		{A: 0x00000001, B: 0x00000001}, // subnormal operands
		{A: 0x007fffff, B: 0x3f800000},
		{A: 0x00800001, B: 0x80800000}, // a subnormal difference of normal operands
		{A: 0x20000000, B: 0x1f000000}, // a subnormal product
	}
	d := softEmulator(t, true)
	own := softRun[uint32](t, d, softKernel(t, d, "uint", "", floatColumns), len(floatColumns), pairs)
	soft := softRun[uint32](t, d, softKernel(t, d, "uint", msl.SoftFloat64(), softColumns32), len(softColumns32), pairs)
	softCompare(t, binary32, pairs, soft)
	add, mul := own[:len(pairs)], own[len(pairs):]
	if add[0] != 0 || add[2] != 0 || mul[1] != 0 || mul[3] != 0 {
		t.Errorf("the device keeps subnormals: sums %#x, products %#x", add, mul)
	}
	if soft[0] != 2 || soft[2] != 1 {
		t.Errorf("sums %#x, want the subnormals 2 and 1", soft[:len(pairs)])
	}
}

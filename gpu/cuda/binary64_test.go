//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
	_ "github.com/broadhead-go/broadhead/gpu/cuda"
	"github.com/broadhead-go/broadhead/msl"
)

// softPairs is how many pairs of operands each operation is tried on.
const softPairs = 100_000_000

// TestSoftwareBinary64 compares the arithmetic of devices without double with the GPU's own, bit for bit but for NaN, on
// random pairs: of any bits, of exponents near each other, and subnormal ones.
func TestSoftwareBinary64(t *testing.T) {
	d, err := gpu.Open("cuda")
	if err != nil {
		t.Logf("nothing to test: %v", err)
		return
	}
	soft := regexp.MustCompile(`\b(sf(?:32|64)_\w+)`).ReplaceAllString(msl.SoftFloat64(), "soft_$1")
	ops := map[string]string{}
	for _, op := range []string{"add", "sub", "mul", "div", "sqrt"} {
		args := map[bool]string{true: "(a)", false: "(a, b)"}[op == "sqrt"]
		ops["sf64_"+op] = args
		if op != "sqrt" {
			ops["sf32_"+op] = "((uint)a, (uint)b)"
		}
	}
	for _, op := range []string{"eq", "lt", "le"} {
		ops["sf64_"+op] = "(a, b)"
	}
	ops["sf64_from_ulong"], ops["sf64_from_long"] = "(a)", "((long)a)"
	ops["sf64_from_float_bits"], ops["sf64_to_float_bits"] = "((uint)a)", "(a)"
	bad, err := d.Alloc(64, gpu.Shared)
	require.NoError(t, err)
	defer bad.Release()
	for op, args := range ops {
		t.Run(op, func(t *testing.T) {
			narrow := strings.HasPrefix(op, "sf32_") || op == "sf64_to_float_bits"
			nan := "(x << 1) > 0xffe0000000000000ul && (y << 1) > 0xffe0000000000000ul"
			if narrow {
				nan = "((uint)x << 1) > 0xff000000u && ((uint)y << 1) > 0xff000000u"
			}
			text := strings.NewReplacer("$OP", op, "$ARGS", args, "$NAN", nan).Replace(`#include <metal_stdlib>
using namespace metal;
` + msl.NativeFloat64() + soft + `
static inline ulong mixed(ulong h) {
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ul;
    h = (h ^ (h >> 27)) * 0x94d049bb133111ebul;
    return h ^ (h >> 31);
}
kernel void compare(device atomic_uint* bad [[buffer(0)]], constant ulong& n [[buffer(1)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = ((ulong)tg.y * 65536ul + (ulong)tg.x) * 256ul + (ulong)tid;
    if (i >= n) return;
    ulong a = mixed(2ul * i + 1ul), b = mixed(2ul * i + 2ul), kind = mixed(i + 0x1234567ul);
    if ((kind & 3ul) == 1ul) b = (b & 0x801ffffffffffffful) | (a & 0x7fe0000000000000ul); // exponents that differ by 1 at most
    if ((kind & 3ul) == 2ul) a &= 0x801ffffffffffffful;                                   // exponents 0 and 1
    if ((kind & 7ul) == 6ul) b &= 0x801ffffffffffffful;
    if ((kind & 15ul) == 15ul) a &= ~0ul << (kind >> 58);                                 // short fractions: ties
    if ((kind & 31ul) == 7ul) { a &= 0x807ffffful; b = (b & 0x80fffffful) | ((kind >> 40) << 23 & 0x7f800000ul); }
    ulong x = (ulong)$OP$ARGS;
    ulong y = (ulong)soft_$OP$ARGS;
    if (x != y && !($NAN)) {
        if (atomic_fetch_add_explicit(bad, 1u, memory_order_relaxed) == 0u) {
            atomic_store_explicit(bad + 2, (uint)a, memory_order_relaxed);
            atomic_store_explicit(bad + 3, (uint)(a >> 32), memory_order_relaxed);
            atomic_store_explicit(bad + 4, (uint)b, memory_order_relaxed);
            atomic_store_explicit(bad + 5, (uint)(b >> 32), memory_order_relaxed);
        }
    }
}
`)
			p, err := d.Compile(gpu.Source{Name: "compare", Text: text})
			require.NoError(t, err)
			defer p.Release()
			clear(bad.Host())
			c := d.Commands()
			n := uint64(softPairs)
			c.Dispatch(p, int((n+255)/256), 256, []gpu.Arg{{Buf: bad}, {Bytes: binary.LittleEndian.AppendUint64(nil, n)}})
			e, err := c.Commit()
			require.NoError(t, err)
			require.NoError(t, e.Wait(context.Background()))
			h := bad.Host()
			require.Zero(t, binary.LittleEndian.Uint32(h), fmt.Sprintf("pairs differ, one is %#x and %#x",
				binary.LittleEndian.Uint64(h[8:]), binary.LittleEndian.Uint64(h[16:])))
			t.Logf("%d pairs", n)
		})
	}
}

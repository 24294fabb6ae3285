//go:build linux

package emulator

import (
	"strconv"
	"strings"
	"testing"
)

// What Metal's compiler rejects is rejected, at the same line.
func TestCompileErrors(t *testing.T) {
	for _, c := range readCases(t, "rejected.metal") {

		t.Run(c.name, func(t *testing.T) {
			library, err := newLibrary(header + c.body)
			if err == nil {
				release(library)
				t.Fatal("it compiled")
			}
			if !strings.Contains(err.Error(), c.parts[0]) {
				t.Fatalf("want %q, got %v", c.parts[0], err)
			}
		})
	}
}

// Without the using directive names must be qualified, as in Metal.
func TestNamespaceIsNotImplied(t *testing.T) {
	const unqualified = "#include <metal_stdlib>\nkernel void k(device uint* a [[buffer(0)]]) { a[0] = popcount(a[1]); }"
	if _, err := newLibrary(unqualified); err == nil {
		t.Fatal("popcount was found without metal::")
	}
	if _, err := newLibrary(strings.Replace(unqualified, "popcount", "metal::popcount", 1)); err != nil {
		t.Fatal(err)
	}
}

// The library computes what MSL says: each row is an expression and its value.
func TestStandardLibrary(t *testing.T) {
	rows := []struct {
		expression string
		want       uint32
	}{
		{"popcount(0xffu)", 8},
		{"uint(popcount(uchar(0xf1)))", 5},
		{"uint(popcount(short(-1)))", 16},
		{"uint(popcount(-1l))", 64},
		{"clz(1u)", 31},
		{"clz(0u)", 32},
		{"uint(clz(uchar(1)))", 7},
		{"uint(clz(ushort(0)))", 16},
		{"uint(clz(1ul))", 63},
		{"uint(clz(char(-1)))", 0},
		{"ctz(8u)", 3},
		{"ctz(0u)", 32},
		{"uint(ctz(0ul))", 64},
		{"uint(ctz(uchar(0)))", 8},
		{"mulhi(0x80000000u, 6u)", 3},
		{"uint(mulhi(-1, 1))", 0xffffffff},
		{"uint(mulhi(1ul << 63, 6ul))", 3},
		{"uint(mulhi(-1l, 1l))", 0xffffffff},
		{"rotate(0x80000001u, 1u)", 3},
		{"uint(rotate(1ul << 63, 1ul))", 1},
		{"reverse_bits(1u)", 0x80000000},
		{"extract_bits(0xabcdu, 4, 8)", 0xbc},
		{"insert_bits(0u, 0xffu, 4, 8)", 0xff0},
		{"uint(extract_bits(int(0xf0), 4, 4))", 0xffffffff},
		{"uint(abs(-5))", 5},
		{"uint(min(-1, 1))", 0xffffffff},
		{"max(1u, 2u)", 2},
		{"clamp(9u, 1u, 5u)", 5},
		{"select(1u, 2u, true)", 2},
		{"addsat(0xffffffffu, 2u)", 0xffffffff},
		{"uint(subsat(-2147483647, 5))", 0x80000000},
		{"uint(isnan(NAN)) + uint(isinf(INFINITY)) * 2 + uint(isnan(1.0f)) * 4", 3},
		{"as_type<uint>(fabs(-1.5f))", 0x3fc00000},
		{"uint(floor(2.7f) + ceil(2.2f) + trunc(2.9f) + rint(2.5f))", 9},
		{"as_type<uint>(copysign(1.0f, -0.0f))", 0xbf800000},
		{"uint(sqrt(16.0f) + exp(0.0f) + log(1.0f) + pow(2.0f, 3.0f))", 13},
		{"uint(fmax(NAN, 3.0f) + fmin(2.0f, NAN))", 5},
		{"as_type<uint2>(0x100000002l).y * 10 + as_type<uint2>(0x100000002l).x", 12},
		{"uint(as_type<ulong>(uint2(1, 2)) >> 32)", 2},
		{"as_type<uint>(uchar4(1, 2, 3, 4))", 0x04030201},
		{"uint(as_type<ushort2>(0x00020001u).y)", 2},
		{"(uint2(1, 2) + uint2(3, 4)).y + (uint2(7, 9) % 4u).x + (3u * uint2(1, 2)).y", 15},
		{"(uint4(1, 2, 3, 4) << 1u).w + (uint3(7) & uint3(3, 5, 6)).z + (~uint2(0)).x", 13},
		{"uint(all(uint3(1, 2, 3) == uint3(1, 2, 3))) + uint(any(int2(1, 2) < int2(0, 0))) * 2", 1},
		{"select(uint2(1, 2), uint2(3, 4), bool2(false, true)).y", 4},
		{"min(uint2(5, 1), uint2(2, 9)).x + max(short2(-1, 3), short2(4, -4)).x", 6},
		{"uint(ulong3(1, 2, 3).z) + uint(sizeof(uint3)) + uint(sizeof(long4))", 51},
		{"uint(int2(float2(1.9f, -2.9f)).y)", 0xfffffffe},
		{"uint(char(200))", 0xffffffc8},
		{"lookup[2] + sizeof(lookup)", 46},
		{"twice<uint>(21u)", 42},
	}
	var body strings.Builder
	for i, r := range rows {
		body.WriteString("  out[" + strconv.Itoa(i) + "] = " + r.expression + ";\n")
	}
	p := pipelineOf(t, header+`constant uint lookup[4] = {10, 20, 30, 40};
template <typename T> static inline T twice(T v) { return v + v; }
kernel void k(device uint* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
`+body.String()+"}")
	out := newBuffer(4 * len(rows))
	expect(t, func() { launch(p, 1, 1, out) })
	for i, got := range words[uint32](out) {
		if got != rows[i].want {
			t.Errorf("%s: got %#x, want %#x", rows[i].expression, got, rows[i].want)
		}
	}
}

// SIMD-group functions, one row each, over lane numbers.
func TestSIMDGroupFunctions(t *testing.T) {
	rows := []struct {
		expression string
		want       func(lane uint32) uint32
	}{
		{"simd_sum(lane)", func(uint32) uint32 { return 496 }},
		{"uint(simd_sum(-int(lane)))", func(uint32) uint32 { return ^uint32(496) + 1 }},
		{"uint(simd_sum(float(lane)))", func(uint32) uint32 { return 496 }},
		{"uint(simd_min(int(lane) - 5))", func(uint32) uint32 { return 0xfffffffb }},
		{"uint(simd_max(short(lane)))", func(uint32) uint32 { return 31 }},
		{"simd_product(lane == 3 ? 7u : 1u)", func(uint32) uint32 { return 7 }},
		{"simd_or(1u << lane)", func(uint32) uint32 { return 0xffffffff }},
		{"simd_xor(lane)", func(uint32) uint32 { return 0 }},
		{"simd_and(lane | 8u)", func(uint32) uint32 { return 8 }},
		{"simd_prefix_exclusive_sum(lane)", func(l uint32) uint32 { return l * (l - 1) / 2 }},
		{"simd_prefix_inclusive_sum(lane)", func(l uint32) uint32 { return l * (l + 1) / 2 }},
		{"uint((simd_vote::vote_t)simd_ballot(lane & 1u))", func(uint32) uint32 { return 0xaaaaaaaa }},
		{"simd_shuffle(lane * 3, ushort(5))", func(uint32) uint32 { return 15 }},
		{"simd_shuffle_down(lane, 1)", func(l uint32) uint32 { return min(l+1, 31) }},
		{"simd_shuffle_up(lane, 1)", func(l uint32) uint32 { return max(l, 1) - 1 }},
		{"simd_shuffle_xor(uint2(lane, lane + 100), 3).y", func(l uint32) uint32 { return (l ^ 3) + 100 }},
		{"simd_broadcast(lane, 9)", func(uint32) uint32 { return 9 }},
		{"simd_broadcast_first(lane + 4)", func(uint32) uint32 { return 4 }},
		{"uint(simd_all(lane < 32)) + 2 * uint(simd_any(lane == 40))", func(uint32) uint32 { return 1 }},
		{"uint(simd_is_first())", func(l uint32) uint32 { return b2u(l == 0) }},
	}
	var body strings.Builder
	for i, r := range rows {
		body.WriteString("  out[" + strconv.Itoa(i*32) + " + lane] = " + r.expression + ";\n")
	}
	p := pipelineOf(t, header+"kernel void k(device uint* out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {\n"+
		body.String()+"}")
	out := newBuffer(4 * 32 * len(rows))
	expect(t, func() { launch(p, 1, 32, out) })
	got := words[uint32](out)
	for i, r := range rows {
		for lane := uint32(0); lane < 32; lane++ {
			if want := r.want(lane); got[uint32(i*32)+lane] != want {
				t.Errorf("%s: lane %d got %#x, want %#x", r.expression, lane, got[uint32(i*32)+lane], want)
				break
			}
		}
	}
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

package gputest

import "github.com/broadhead-go/broadhead/gpu"

// preamble begins every kernel text.
const preamble = `#include <metal_stdlib>
using namespace metal;
struct Params { ulong n; ulong k; };
static inline ulong group_index(uint3 tg) { return (ulong)tg.y * 65536ul + (ulong)tg.x; }
`

// params are the parameters of every kernel here.
type params struct{ N, K uint64 }

// The kernels of the suite, by name. A threadgroup has as many threads as the test dispatches; p.k tells the kernel.
var kernels = map[string]string{
	// out[i] = i + 1 for i < n, a thread an element.
	"fill": `kernel void fill(device uint* out [[buffer(0)]], constant Params& p [[buffer(1)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * p.k + (ulong)tid;
    if (i < p.n) out[i] = (uint)i + 1u;
}`,
	// One word a threadgroup.
	"groups": `kernel void groups(device uint* out [[buffer(0)]], constant Params& p [[buffer(1)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong g = group_index(tg);
    if (g < p.n && tid == 0u) out[g] = (uint)g ^ 0x5a5a5a5au;
}`,
	"add": `kernel void add(device const uint* a [[buffer(0)]], device const uint* b [[buffer(1)]],
    device uint* out [[buffer(2)]], constant Params& p [[buffer(3)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * p.k + (ulong)tid;
    if (i < p.n) out[i] = a[i] + b[i];
}`,
	// Binds 0, 3 and 5 only.
	"sparse_args": `kernel void sparse_args(device uint* out [[buffer(0)]], device const uint* a [[buffer(3)]],
    constant Params& p [[buffer(5)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * p.k + (ulong)tid;
    if (i < p.n) out[i] = a[i] * 3u;
}`,
	// Every element is read and written by another thread than before.
	"reverse": `kernel void reverse(device const uint* a [[buffer(0)]], device uint* out [[buffer(1)]],
    constant Params& p [[buffer(2)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * p.k + (ulong)tid;
    if (i < p.n) out[p.n - 1ul - i] = a[i] + 1u;
}`,
	// Five words a thread: sum, exclusive prefix, neighbour, ballot, minimum of the SIMD-group.
	"simd": `kernel void simd(device const uint* a [[buffer(0)]], device uint* out [[buffer(1)]],
    constant Params& p [[buffer(2)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * p.k + (ulong)tid;
    uint x = i < p.n ? a[i] : 0u;
    uint sum = simd_sum(x);
    uint prefix = simd_prefix_exclusive_sum(x);
    uint other = simd_shuffle_xor(x, (ushort)1);
    uint odd = (uint)(simd_vote::vote_t)simd_ballot((x & 1u) != 0u);
    uint least = simd_min(x);
    if (i < p.n) {
        out[i * 5ul] = sum;
        out[i * 5ul + 1ul] = prefix;
        out[i * 5ul + 2ul] = other;
        out[i * 5ul + 3ul] = odd;
        out[i * 5ul + 4ul] = least;
    }
}`,
	// Shuffle of 64-bit values, as two words.
	"shuffle64": `kernel void shuffle64(device const ulong* a [[buffer(0)]], device ulong* out [[buffer(1)]],
    constant Params& p [[buffer(2)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * p.k + (ulong)tid;
    ulong x = i < p.n ? a[i] : 0ul;
    ulong y = as_type<ulong>(simd_shuffle_xor(as_type<uint2>(x), (ushort)16));
    if (i < p.n) out[i] = y;
}`,
	// Reverses each threadgroup's elements through threadgroup memory.
	"tile": `kernel void tile(device const uint* a [[buffer(0)]], device uint* out [[buffer(1)]],
    constant Params& p [[buffer(2)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup uint part[1024];
    ulong first = group_index(tg) * p.k;
    part[tid] = a[first + (ulong)tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[first + (ulong)tid] = part[(uint)p.k - 1u - tid];
}`,
	// Counts, maximum, and bits, by atomics.
	"atomics": `kernel void atomics(device const uint* a [[buffer(0)]], device atomic_uint* out [[buffer(1)]],
    constant Params& p [[buffer(2)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * p.k + (ulong)tid;
    if (i < p.n) {
        atomic_fetch_add_explicit(out, a[i], memory_order_relaxed);
        atomic_fetch_max_explicit(out + 1, a[i], memory_order_relaxed);
        atomic_fetch_or_explicit(out + 2, 1u << (a[i] & 31u), memory_order_relaxed);
    }
}`,
	// Enough work that a command is still in flight when the test looks.
	"slow": `kernel void slow(device uint* out [[buffer(0)]], constant Params& p [[buffer(1)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * p.k + (ulong)tid;
    uint x = (uint)i;
    for (ulong k = 0ul; k < p.n; k++) x = x * 1664525u + 1013904223u;
    out[i] = x;
}`,
}

// source is the text of one of the suite's kernels.
func source(name string) gpu.Source {
	return gpu.Source{Name: name, Text: preamble + kernels[name] + "\n"}
}

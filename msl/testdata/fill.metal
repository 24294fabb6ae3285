#include <metal_stdlib>
using namespace metal;

// Number of the threadgroup: grids are folded into rows of 65,536.
static inline ulong group_index(uint3 tg) {
    return (ulong)tg.y * 65536ul + (ulong)tg.x;
}

struct Args {
    ulong words;
    uint value;
    uint pad;
};

// All words of out to one value.
kernel void fill(
    device uint* out [[buffer(0)]],
    constant Args& p [[buffer(1)]],
    uint3 tg [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]],
    uint sg [[simdgroup_index_in_threadgroup]])
{
    ulong first = group_index(tg) * 2048ul;
    for (uint i = sg * 32u + lane; i < 2048u; i += 256u) {
        if (first + (ulong)i < p.words) out[first + (ulong)i] = p.value;
    }
}

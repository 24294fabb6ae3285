// Selected rows of a tile to their places.
kernel void {{.Name}}(
{{.Parameters}})
{
    threadgroup uint part[{{div .Threads 32}}];
    ulong tile = group_index(tg);
    if (tile * {{.Tile}}ul >= p.n) return;
    ulong word = tile * {{.Threads}}ul + (ulong)(sg * 32u + lane);
    uint sel = word * 32ul < p.n ? selection[word] : 0u;
    // Selected rows of the tile before this thread's word.
    uint count = (uint)popcount(sel);
    uint before = simd_prefix_exclusive_sum(count);
    if (lane == 31u) part[sg] = before + count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = 0u; i < sg; i++) before += part[i];
    ulong base = offsets[tile];
{{- if .In.Packed}}
    if (sel == 0u) return;
    ulong row = word * 32ul;
    uint k = p.n - row < 32ul ? (uint)(p.n - row) : 32u;
    uint x = bits_at(in, p.off + row, k);
    uint packed = 0u;
    uint at = 0u;
    for (uint left = sel; left != 0u; left &= left - 1u) {
        packed |= ((x >> (uint)ctz(left)) & 1u) << at;
        at++;
    }
    ulong to = base + (ulong)before;
    uint shift = (uint)to & 31u;
    uint low = packed << shift;
    uint high = shift != 0u ? packed >> (32u - shift) : 0u;
    if (low != 0u) atomic_fetch_or_explicit(out + (to >> 5), low, memory_order_relaxed);
    if (high != 0u) atomic_fetch_or_explicit(out + (to >> 5) + 1, high, memory_order_relaxed);
{{- else}}
    // The simdgroup takes its 32 words one after the other, a lane a row. It reads eight before it writes the first, so
    // that memory has more to do at a time.
    ulong first = p.off + (tile * {{.Threads}}ul + (ulong)(sg * 32u)) * 32ul + (ulong)lane;
    for (uint i = 0u; i < 32u; i += 8u) {
        {{.In.Storage}} v[8];
        for (uint k = 0u; k < 8u; k++) {
            uint bits = simd_shuffle(sel, (ushort)(i + k));
            v[k] = ((bits >> lane) & 1u) != 0u ? in[first + (ulong)((i + k) * 32u)] : ({{.In.Storage}})0;
        }
        for (uint k = 0u; k < 8u; k++) {
            uint bits = simd_shuffle(sel, (ushort)(i + k));
            uint skip = simd_shuffle(before, (ushort)(i + k));
            ulong to = base + (ulong)(skip + (uint)popcount(bits & ((1u << lane) - 1u)));
            if (((bits >> lane) & 1u) != 0u) out[to] = v[k];
        }
    }
{{- end}}
}

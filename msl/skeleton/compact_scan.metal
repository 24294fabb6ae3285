// Exclusive scan of the tiles' counts, and their total.
kernel void {{.Name}}(
{{.Parameters}})
{
    threadgroup ulong part[{{div .Threads 32}}];
    if (group_index(tg) != 0ul) return;
    // Each thread scans tiles [begin, end).
    ulong each = ((ulong)p.tiles + {{.Threads}}ul - 1ul) / {{.Threads}}ul;
    ulong begin = (ulong)(sg * 32u + lane) * each;
    ulong end = begin + each < (ulong)p.tiles ? begin + each : (ulong)p.tiles;
    ulong sum = 0ul;
    for (ulong i = begin; i < end; i++) sum += (ulong)counts[i];
    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) part[sg] = to;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to -= sum;
    ulong all = 0ul;
    for (uint i = 0u; i < {{div .Threads 32}}u; i++) {
        if (i < sg) to += part[i];
        all += part[i];
    }
    for (ulong i = begin; i < end; i++) {
        offsets[i] = to;
        to += (ulong)counts[i];
    }
    if (sg == 0u && lane == 0u) total[0] = all;
}

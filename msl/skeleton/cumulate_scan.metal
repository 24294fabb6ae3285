// Exclusive scan of the tiles' states in place, from the start or from where the chunk before ended.
kernel void {{.Name}}(
{{.Parameters}})
{
    threadgroup ulong sums[{{div .Threads 32}}];
    threadgroup uint marks[{{div .Threads 32}}];
    if (group_index(tg) != 0ul) return;
    // Each thread scans tiles [begin, end).
    ulong each = ((ulong)p.tiles + {{.Threads}}ul - 1ul) / {{.Threads}}ul;
    ulong begin = (ulong)(sg * 32u + lane) * each;
    ulong end = begin + each < (ulong)p.tiles ? begin + each : (ulong)p.tiles;
    ulong sum = 0ul;
    bool mark = false;
    for (ulong i = begin; i < end; i++) {
        sum += states[2ul * i];
        mark = mark || states[2ul * i + 1ul] != 0ul;
    }
    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
    uint marking = ballot(mark);
    if (lane == 0u) marks[sg] = marking;
    mark = (marking & ((1u << lane) - 1u)) != 0u;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong all = p.goes_on != 0u ? carry[0] : p.start;
    bool marked = p.goes_on != 0u && carry[1] != 0ul;
    to += all;
    mark = mark || marked;
    for (uint i = 0u; i < {{div .Threads 32}}u; i++) {
        if (i < sg) {
            to += sums[i];
            mark = mark || marks[i] != 0u;
        }
        all += sums[i];
        marked = marked || marks[i] != 0u;
    }
    for (ulong i = begin; i < end; i++) {
        ulong own = states[2ul * i];
        bool own_mark = states[2ul * i + 1ul] != 0ul;
        states[2ul * i] = to;
        states[2ul * i + 1ul] = (ulong)mark;
        to += own;
        mark = mark || own_mark;
    }
    if (sg == 0u && lane == 0u) {
        next[0] = all;
        next[1] = (ulong)marked;
    }
}

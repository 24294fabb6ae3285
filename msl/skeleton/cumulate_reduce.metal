// The sum of each tile's rows, and whether one of them is null.
kernel void {{.Name}}(
{{.Parameters}})
{
    threadgroup ulong sums[{{div .Threads 32}}];
{{- if .ANulls}}
    threadgroup uint ends[{{div .Threads 32}}];
{{- end}}
    ulong tile = group_index(tg);
    if (tile >= (ulong)p.tiles) return;
    ulong n = {{.Rows}};
    ulong sum = 0ul;
{{- if .ANulls}}
    bool ended = false;
{{- end}}
    for (uint j = 0u; j < {{.Each}}u; j++) {
        ulong row = tile * {{.TileRows}}ul + (ulong)(j * {{.Threads}}u + sg * 32u + lane);
        bool live = row < n;
{{- if .ANulls}}
        if (live && !bit_at(valid, p.valid + row)) {
            live = false;
            ended = true;
        }
{{- end}}
        sum += live ? (ulong)in[p.off + row] : 0ul;
    }
    for (ushort d = 16; d > 0; d >>= 1) sum += shuffle_xor(sum, d);
    if (lane == 0u) sums[sg] = sum;
{{- if .ANulls}}
    uint ending = ballot(ended);
    if (lane == 0u) ends[sg] = ending;
{{- end}}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg != 0u || lane != 0u) return;
    ulong mark = 0ul;
    sum = 0ul;
    for (uint i = 0u; i < {{div .Threads 32}}u; i++) {
        sum += sums[i];
{{- if .ANulls}}
        mark |= (ulong)ends[i];
{{- end}}
    }
    states[2ul * tile] = sum;
    states[2ul * tile + 1ul] = mark;
}

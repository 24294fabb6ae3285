// Mask to selection words, and the selected rows of each tile.
kernel void {{.Name}}(
{{.Parameters}})
{
    threadgroup uint part[{{div .Threads 32}}];
    ulong tile = group_index(tg);
    if (tile * {{.Tile}}ul >= p.n) return;
    ulong n = {{.Rows}};
    ulong word = tile * {{.Threads}}ul + (ulong)(sg * 32u + lane);
    ulong row = word * 32ul;
    uint sel = 0u;
    if (row < n) {
        uint k = n - row < 32ul ? (uint)(n - row) : 32u;
        sel = bits_at(mask, p.mask + row, k);
{{- if .ANulls}}
        uint valid = bits_at(mask_valid, p.valid + row, k);
{{- if .EmitNull}}
        sel = (sel & valid) | (~valid & low_bits(k));
{{- else}}
        sel &= valid;
{{- end}}
{{- end}}
    }
    if (row < p.n) selection[word] = sel;
    uint count = simd_sum((uint)popcount(sel));
    if (lane == 0u) part[sg] = count;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (sg == 0u && lane == 0u) {
        for (uint i = 1u; i < {{div .Threads 32}}u; i++) count += part[i];
        counts[tile] = count;
    }
}

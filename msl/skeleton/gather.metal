// out[row] = dict[index[row]]
kernel void {{.Name}}(
{{.Parameters}})
{
    ulong n = {{.Rows}};
    ulong group = group_index(tg);
    uint err = 0u;
    for (uint i = 0u; i < {{div .MapRows .Threads}}u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * {{.MapRows}}ul + (ulong)(i * {{.Threads}}u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool v = row < n{{if .ANulls}} && bit_at(valid, p.valid + row){{end}};
        // A negative index becomes one that is too large.
        ulong at = v ? (ulong)index[p.off + row] : 0ul;
        if (v && at >= p.dict_len) {
            err = ERR_INDEX;
            v = false;
        }
{{- if .Out.Packed}}
        uint word = ballot(v && bit_at(dict, p.dict + at));
        if (lane == 0u) out[first >> 5] = word;
{{- else}}
        if (row < p.n) out[row] = v ? dict[p.dict + at] : ({{.Out.Storage}})0;
{{- end}}
{{- if .HasOutValid}}
{{- if .BNulls}}
        v = v && bit_at(dict_valid, p.dict_valid + at);
{{- end}}
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
{{- end}}
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

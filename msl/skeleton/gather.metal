// out[row] = dict[index[row]]
kernel void {{.Name}}(
{{.Parameters}})
{
    ulong n = {{.Rows}};
    ulong group = group_index(tg);
    // A simdgroup takes 32 consecutive rows at a time, one a lane. All indexes are read before the first value, and all
    // values before the first is written, so that memory has much to do at a time.
    ulong first = group * {{.MapRows}}ul + (ulong)(sg * 32u);
    uint err = 0u;
    uint live = 0u;
    ulong at[{{div .MapRows .Threads}}];
    for (uint i = 0u; i < {{div .MapRows .Threads}}u; i++) {
        ulong row = first + (ulong)(i * {{.Threads}}u + lane);
        bool v = row < n{{if .ANulls}} && bit_at(valid, p.valid + row){{end}};
        // A negative index becomes one that is too large.
        at[i] = v ? (ulong)index[p.off + row] : 0ul;
        if (v) live |= 1u << i;
    }
{{- if not .Out.Packed}}
    {{.Out.Storage}} x[{{div .MapRows .Threads}}];
{{- else}}
    uint x = 0u;
{{- end}}
{{- if .BNulls}}
    uint known = 0u;
{{- end}}
    for (uint i = 0u; i < {{div .MapRows .Threads}}u; i++) {
        bool v = ((live >> i) & 1u) != 0u;
        if (v && at[i] >= p.dict_len) {
            err = ERR_INDEX;
            live &= ~(1u << i);
            v = false;
        }
{{- if .Out.Packed}}
        if (v && bit_at(dict, p.dict + at[i])) x |= 1u << i;
{{- else}}
        x[i] = v ? dict[p.dict + at[i]] : ({{.Out.Storage}})0;
{{- end}}
{{- if .BNulls}}
        if (v && bit_at(dict_valid, p.dict_valid + at[i])) known |= 1u << i;
{{- end}}
    }
    for (uint i = 0u; i < {{div .MapRows .Threads}}u; i++) {
        ulong start = first + (ulong)(i * {{.Threads}}u);
        if (start >= p.n) break;
{{- if .Out.Packed}}
        uint word = ballot(((x >> i) & 1u) != 0u);
        if (lane == 0u) out[start >> 5] = word;
{{- else}}
        if (start + lane < p.n) out[start + lane] = x[i];
{{- end}}
{{- if .HasOutValid}}
        uint valid_word = ballot((({{if .BNulls}}known{{else}}live{{end}} >> i) & 1u) != 0u);
        if (lane == 0u) out_valid[start >> 5] = valid_word;
{{- end}}
    }
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
}

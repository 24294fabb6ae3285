// out = {{.Value}}
kernel void {{.Name}}(
{{.Parameters}})
{
    ulong n = {{.Rows}};
    ulong group = group_index(tg);
{{- if .Fails}}
    uint err = 0u;
{{- end}}
    for (uint i = 0u; i < {{div .MapRows .Threads}}u; i++) {
        // 32 consecutive rows, one a lane.
        ulong first = group * {{.MapRows}}ul + (ulong)(i * {{.Threads}}u + sg * 32u);
        if (first >= p.n) break;
        ulong row = first + lane;
        bool live = row < n;
{{- range .Inputs}}
{{- if .Load}}
        {{.ValueType}} {{.Var}} = {{.Load}};
{{- end}}
{{- if .Validity}}
        bool v{{.Var}} = {{.Validity}};
{{- end}}
{{- end}}
{{- if .Fails}}
        uint bad = 0u;
{{- end}}
        {{.Out.Value}} r = {{.Value}};
{{- if .Valid}}
        bool v = live && ({{.Valid}});
{{- end}}
{{- if .Fails}}
        if ({{if .Valid}}v{{else}}live{{end}}) err |= bad;
{{- end}}
{{- if .Out.Packed}}
        uint word = ballot(live && r);
        if (lane == 0u) out[first >> 5] = word;
{{- else if .Out.Float}}
        if (row < p.n) out[row] = live ? r.bits : 0;
{{- else}}
        if (row < p.n) out[row] = live ? r : ({{.Out.Value}})0;
{{- end}}
{{- if .HasOutValid}}
        uint valid_word = ballot(v);
        if (lane == 0u) out_valid[first >> 5] = valid_word;
{{- end}}
    }
{{- if .Fails}}
    err = simd_or(err);
    // Looking first keeps many failing rows from queueing for one word.
    if (lane == 0u && err != 0u && (atomic_load_explicit(error, memory_order_relaxed) & err) != err) {
        atomic_fetch_or_explicit(error, err, memory_order_relaxed);
    }
{{- end}}
}

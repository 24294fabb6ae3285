// out = {{.Value}}, as bits
kernel void {{.Name}}(
{{.Parameters}})
{
    ulong n = {{.Rows}};
    ulong base = group_index(tg) * {{.MapRows}}ul + (ulong)(sg * 32u + lane);
    // All of a thread's rows are on their way before the first is used; a scalar is read once.
{{- range .Inputs}}
{{- if .Load}}
    {{.Storage}} {{.Var}}_one = p.{{.Var}}_stride == 0u ? {{.Var}}_in[p.{{.Var}}_off] : ({{.Storage}})0;
    {{.Storage}} {{.Var}}_rows[{{div $.MapRows $.Threads}}];
{{- end}}
{{- end}}
    #pragma unroll
    for (uint i = 0u; i < {{div .MapRows .Threads}}u; i++) {
        ulong row = base + (ulong)(i * {{.Threads}}u);
        bool live = row < n;
{{- range .Inputs}}
{{- if .Load}}
        {{.Var}}_rows[i] = live && p.{{.Var}}_stride != 0u ? {{.Var}}_in[p.{{.Var}}_off + row] : {{.Var}}_one;
{{- end}}
{{- end}}
    }
    #pragma unroll
    for (uint i = 0u; i < {{div .MapRows .Threads}}u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * {{.Threads}}u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
{{- range .Inputs}}
{{- if .Load}}
        {{.ValueType}} {{.Var}} = {{if .Float}}{{.ValueType}}{ {{- .Var}}_rows[i]}{{else}}{{.Var}}_rows[i]{{end}};
{{- end}}
{{- if .Validity}}
        bool v{{.Var}} = {{.Validity}};
{{- end}}
{{- end}}
        bool r = {{.Value}};
        uint word = ballot(live && r);
        if (lane == 0u && first < p.n) out[first >> 5] = word;
{{- if .HasOutValid}}
        bool v = live && ({{.Valid}});
        uint valid_word = ballot(v);
        if (lane == 0u && first < p.n) out_valid[first >> 5] = valid_word;
{{- end}}
    }
}

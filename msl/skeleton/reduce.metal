{{template "state" .}}
// {{.Op}} of the rows, one state a threadgroup.
kernel void {{.Name}}(
{{.Parameters}})
{
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = {{.Rows}};
    uint tid = sg * 32u + lane;
    State s = no_rows();
    for (ulong first = group * {{.Tile}}ul; first < n; first += (ulong)p.groups * {{.Tile}}ul) {
{{template "rows" .}}
    }
{{- if not .ANulls}}
    s.valid = s.rows;
{{- end}}
{{template "tree" .}}
    if (tid == 0u) {
        device ulong* to = partials + ((ulong)p.first + group) * {{len .State.Fields}}ul;
{{- range $i, $f := .State.Fields}}
        to[{{$i}}] = s.{{$f.Name}};
{{- end}}
    }
}

{{template "state" .}}
// {{.Op}} of the rows of one threadgroup, from the rows to the result.
kernel void {{.Name}}(
{{.Parameters}})
{
    if (group_index(tg) != 0ul) return;
    ulong n = {{.Rows}};
    uint tid = sg * 32u + lane;
    State s = no_rows();
    for (ulong first = 0ul; first < n; first += {{.Tile}}ul) {
{{template "rows" .}}
    }
{{- if not .ANulls}}
    s.valid = s.rows;
{{- end}}
{{template "tree" .}}
{{template "result" .}}
}

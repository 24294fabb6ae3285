{{template "state" .}}
// {{.Op}} from the states of all threadgroups.
kernel void {{.Name}}(
{{.Parameters}})
{
    if (group_index(tg) != 0ul) return;
    uint tid = sg * 32u + lane;
    State s = no_rows();
    for (uint i = tid; i < p.states; i += {{.Threads}}u) {
        device const ulong* from = partials + (ulong)i * {{len .State.Fields}}ul;
        s = merge(s, State{ {{- range $i, $f := .State.Fields}}{{if $i}}, {{end}}from[{{$i}}]{{end -}} });
    }
{{template "tree" .}}
{{template "result" .}}
}

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
        ulong end = n - first < {{.Tile}}ul ? n : first + {{.Tile}}ul;
        if (tid == 0u) s.rows += end - first;
{{- if .ByWord}}
        // 32 rows a thread.
        ulong row = first + (ulong)(tid * 32u);
        if (row >= end) continue;
        uint k = end - row < 32ul ? (uint)(end - row) : 32u;
{{- if .ANulls}}
        uint live = bits_at(valid, p.valid + row, k);
        s.valid += (ulong)popcount(live);
{{- end}}
{{- if eq .Op "bool"}}
        s.trues += (ulong)popcount(bits_at(in, p.off + row, k){{if .ANulls}} & live{{end}});
{{- end}}
{{- else if .ByRow}}
        for (ulong row = first + tid; row < end; row += {{.Threads}}ul) {
{{- if .ANulls}}
            if (!bit_at(valid, p.valid + row)) continue;
            s.valid++;
{{- end}}
            {{.In.Value}} x = {{if .In.Float}}{{.In.Value}}{in[p.off + row]}{{else}}in[p.off + row]{{end}};
{{- if eq .Op "sum"}}
            s.sum += (ulong)x;
{{- else if eq .Op "mean"}}
            s.low += (ulong)x;
            s.high += (s.low < (ulong)x ? 1ul : 0ul){{if .In.Signed}} + (x < 0 ? ~0ul : 0ul){{end}};
{{- else}}
{{- if .In.Float}}
            if (is_nan(x)) continue;
{{- end}}
            ulong k = order_key(x);
            s.seen++;
            s.smallest = k < s.smallest ? k : s.smallest;
            s.largest = k > s.largest ? k : s.largest;
{{- end}}
        }
{{- end}}
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

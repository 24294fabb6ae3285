{{define "state"}}
// {{.State.Comment}}
struct State {
{{- range .State.Fields}}
    ulong {{.Name}};
{{- end}}
};

static inline State no_rows() {
    return State{ {{- range $i, $f := .State.Fields}}{{if $i}}, {{end}}{{$f.Empty}}{{end -}} };
}

static inline State merge(State a, State b) {
{{- range .State.Fields}}
    {{.Merge}}
{{- end}}
    return a;
}

static inline State shuffle_state(State s, ushort d) {
    return State{ {{- range $i, $f := .State.Fields}}{{if $i}}, {{end}}shuffle_xor(s.{{$f.Name}}, d){{end -}} };
}
{{end}}

{{define "tree"}}
    // The threads' states s to one, in thread 0.
    for (ushort d = 16; d > 0; d >>= 1) s = merge(s, shuffle_state(s, d));
{{- range .State.Fields}}
    threadgroup ulong part_{{.Name}}[{{div $.Threads 32}}];
{{- end}}
    if (lane == 0u) {
{{- range .State.Fields}}
        part_{{.Name}}[sg] = s.{{.Name}};
{{- end}}
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid == 0u) {
        for (uint i = 1u; i < {{div .Threads 32}}u; i++) {
            s = merge(s, State{ {{- range $i, $f := .State.Fields}}{{if $i}}, {{end}}part_{{$f.Name}}[i]{{end -}} });
        }
    }
{{- end}}

{{define "rows"}}        ulong end = n - first < {{.Tile}}ul ? n : first + {{.Tile}}ul;
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
{{- if eq .Reduction "bool"}}
        s.trues += (ulong)popcount(bits_at(in, p.off + row, k){{if .ANulls}} & live{{end}});
{{- end}}
{{- else if .ByRow}}
        for (ulong row = first + tid; row < end; row += {{.Threads}}ul) {
{{- if .ANulls}}
            if (!bit_at(valid, p.valid + row)) continue;
            s.valid++;
{{- end}}
            {{.In.Value}} x = {{if .In.Float}}{{.In.Value}}{in[p.off + row]}{{else}}in[p.off + row]{{end}};
{{- if eq .Reduction "sum"}}
            s.sum += (ulong)x;
{{- else if eq .Reduction "mean"}}
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
{{- end}}

{{define "result"}}    if (tid == 0u) {
        bool ok = {{.Result.Valid}};
        out[0] = ok ? ({{.Out.Storage}})({{.Result.Value}}) : ({{.Out.Storage}})0;
        out_valid[0] = ok ? 1u : 0u;
{{- if .Result.Value2}}
        out2[0] = ok ? ({{.Out.Storage}})({{.Result.Value2}}) : ({{.Out.Storage}})0;
{{- end}}
    }
{{- end}}

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

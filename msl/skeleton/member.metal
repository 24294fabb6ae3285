// out = in[row] is in the set
kernel void {{.Name}}(
{{.Parameters}})
{
    // The set's values in order, the last repeated until their number is a power of two.
    threadgroup {{.Wide}} members[{{.MaxSet}}];
    uint tid = sg * 32u + lane;
    if (tid < p.size) members[tid] = ({{.Wide}})p.set[tid];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong n = {{.Rows}};
    ulong base = group_index(tg) * {{.MapRows}}ul + (ulong)tid;
    {{.In.Storage}} rows[{{div .MapRows .Threads}}];
    #pragma unroll
    for (uint i = 0u; i < {{div .MapRows .Threads}}u; i++) {
        ulong row = base + (ulong)(i * {{.Threads}}u);
        rows[i] = row < n ? in[p.off + row * p.stride] : ({{.In.Storage}})0;
    }
    #pragma unroll
    for (uint i = 0u; i < {{div .MapRows .Threads}}u; i++) {
        // 32 consecutive rows, one a lane.
        ulong row = base + (ulong)(i * {{.Threads}}u);
        ulong first = row - (ulong)lane;
        bool live = row < n;
        {{.Wide}} a = ({{.Wide}})rows[i];
{{- if .NaN}}
        if ({{.NaN}}) a = {{.OneNaN}};
{{- end}}
        uint at = 0u;
        for (uint half_size = p.size >> 1; half_size != 0u; half_size >>= 1) {
            if (members[at + half_size] <= a) at += half_size;
        }
        bool v = live{{if .ANulls}} && bit_at(valid, p.valid + row * p.stride){{end}};
        bool found = v && p.size != 0u && members[at] == a;
        uint word = ballot(found || (live && !v && p.null_found != 0u));
        if (lane == 0u && first < p.n) out[first >> 5] = word;
{{- if .EmitNull}}
        uint valid_word = ballot(v && (found || p.only_found == 0u));
        if (lane == 0u && first < p.n) out_valid[first >> 5] = valid_word;
{{- end}}
    }
}

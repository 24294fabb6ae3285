// out = start + the sum of the rows up to each{{if .Lookback}}, in one pass{{end}}
kernel void {{.Name}}(
{{.Parameters}})
{
    threadgroup {{.In.Storage}} moved[{{.Threads}} * ({{.Each}} + 1)];
    threadgroup ulong sums[{{div .Threads 32}}];
{{- if .ANulls}}
    threadgroup uint ends[{{div .Threads 32}}];
{{- end}}
{{- if .Lookback}}
    threadgroup ulong before[2];
    if (sg == 0u && lane == 0u) before[0] = atomic_fetch_add_explicit(states + 2ul * (ulong)p.tiles, 1ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong tile = before[0];
    (void)tg; // tiles are numbered by who comes first
{{- else}}
    ulong tile = group_index(tg);
{{- end}}
    if (tile >= (ulong)p.tiles) return;
    ulong n = {{.Rows}};

    // A simdgroup reads its rows in order and deals them out by way of threadgroup memory: {{.Each}} to a lane, one after the
    // other, with a gap between lanes so that they use different banks.
    ulong base = tile * {{.TileRows}}ul + (ulong)(sg * {{.SimdRows}}u);
    threadgroup {{.In.Storage}}* mine = moved + sg * (32u * ({{.Each}}u + 1u));
    {
        {{.In.Storage}} v[{{.Each}}];
        for (uint j = 0u; j < {{.Each}}u; j++) {
            ulong row = base + (ulong)(j * 32u + lane);
            v[j] = row < n ? in[p.off + row] : ({{.In.Storage}})0;
        }
        for (uint j = 0u; j < {{.Each}}u; j++) {
            uint e = j * 32u + lane;
            mine[e + e / {{.Each}}u] = v[j];
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
{{- if .ANulls}}
    ulong first = base + (ulong)(lane * {{.Each}}u);
    uint k = first >= n ? 0u : n - first < {{.Each}}ul ? (uint)(n - first) : {{.Each}}u;
    uint live = k != 0u ? bits_at(valid, p.valid + first, k) : 0u;
    bool ended = k != 0u && live != low_bits(k);
{{- end}}
    ulong sum = 0ul;
    for (uint j = 0u; j < {{.Each}}u; j++) {
        ulong x = (ulong)mine[lane * ({{.Each}}u + 1u) + j];
        sum += {{if .ANulls}}((live >> j) & 1u) != 0u ? x : 0ul{{else}}x{{end}};
    }

    ulong to = prefix_sum(sum, lane);
    if (lane == 31u) sums[sg] = to;
    to -= sum;
{{- if .ANulls}}
    uint ending = ballot(ended);
    if (lane == 0u) ends[sg] = ending;
    ended = (ending & ((1u << lane) - 1u)) != 0u;
{{- end}}
    threadgroup_barrier(mem_flags::mem_threadgroup);
{{- if .Lookback}}
    if (sg == 0u) {
        ulong all = 0ul;
        bool mark = false;
        for (uint i = 0u; i < {{div .Threads 32}}u; i++) {
            all += sums[i];
{{- if .ANulls}}
            mark = mark || ends[i] != 0u;
{{- end}}
        }
        ulong from = p.start;
        bool marked = false;
        if (tile != 0ul) {
            if (lane == 0u) tell(states, tile, all, mark, 1u);
            from = look_back(states, tile, lane, marked);
        } else if (p.goes_on != 0u) {
            from = carry[0];
            marked = carry[1] != 0ul;
        }
        if (lane == 0u) {
            tell(states, tile, from + all, marked || mark, 2u);
            before[0] = from;
            before[1] = (ulong)marked;
            if (tile + 1ul == (ulong)p.tiles) {
                next[0] = from + all;
                next[1] = (ulong)(marked || mark);
            }
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    to += before[0];
{{- if .ANulls}}
    ended = ended || before[1] != 0ul;
{{- end}}
{{- else}}
    to += states[2ul * tile];
{{- if .ANulls}}
    ended = ended || states[2ul * tile + 1ul] != 0ul;
{{- end}}
{{- end}}
    for (uint i = 0u; i < sg; i++) {
        to += sums[i];
{{- if .ANulls}}
        ended = ended || ends[i] != 0u;
{{- end}}
    }
{{- if .ANulls}}
    ended = ended && p.stops != 0u;
    uint bits = 0u;
{{- end}}
{{- if .Fails}}
    uint err = 0u;
{{- end}}
    // Rows are read again from threadgroup memory: registers that held them would keep other threadgroups off.
    for (uint j = 0u; j < {{.Each}}u; j++) {
        {{.In.Value}} x = mine[lane * ({{.Each}}u + 1u) + j];
{{- if .ANulls}}
        bool valid_row = ((live >> j) & 1u) != 0u;
        ended = ended || (p.stops != 0u && !valid_row);
        valid_row = valid_row && !ended;
        bits |= valid_row ? 1u << j : 0u;
        if (((live >> j) & 1u) == 0u) x = ({{.In.Value}})0;
{{- end}}
{{- if .Fails}}
        uint bad = 0u;
        {{.In.Value}} r = add_checked(({{.In.Value}})to, x, bad);
        {{if .ANulls}}if (valid_row) {{end}}err |= bad;
{{- end}}
        to += (ulong)x;
        mine[lane * ({{.Each}}u + 1u) + j] = {{if .Fails}}r{{else}}({{.In.Storage}})to{{end}};
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint j = 0u; j < {{.Each}}u; j++) {
        uint e = j * 32u + lane;
        ulong row = base + (ulong)e;
        if (row < p.n) out[row] = row < n ? mine[e + e / {{.Each}}u] : ({{.In.Storage}})0;
    }
{{- if .ANulls}}
    // The bits of {{div 32 .Each}} lanes are a word.
    bits <<= {{.Each}}u * (lane & {{.LastOfWord}}u);
    for (ushort d = 1; d <= {{.LastOfWord}}; d <<= 1) bits |= simd_shuffle_xor(bits, d);
    if ((lane & {{.LastOfWord}}u) == 0u && first < p.n) out_valid[first >> 5] = bits;
{{- end}}
{{- if .Fails}}
    err = simd_or(err);
    if (lane == 0u && err != 0u) atomic_fetch_or_explicit(error, err, memory_order_relaxed);
{{- end}}
}

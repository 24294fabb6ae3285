{{template "state" .}}
// Sum of the rows without rounding, one superaccumulator a threadgroup: digit i has the weight 2^(16 i - 1074).
kernel void {{.Name}}(
{{.Parameters}})
{
    threadgroup atomic_int digits[{{.ExactDigits}}];
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = {{.Rows}};
    uint tid = sg * 32u + lane;
    State s = no_rows();
    long digit = 0; // of this thread's number
    if (tid < {{.ExactDigits}}u) atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (ulong first = group * {{.Tile}}ul; first < n; first += (ulong)p.groups * {{.Tile}}ul) {
        ulong end = n - first < {{.Tile}}ul ? n : first + {{.Tile}}ul;
        if (tid == 0u) s.rows += end - first;
        for (ulong row = first + tid; row < end; row += {{.Threads}}ul) {
{{- if .ANulls}}
            if (!bit_at(valid, p.valid + row)) continue;
            s.valid++;
{{- end}}
            {{.In.Storage}} x = in[p.off + row];
{{- if eq .In.Name "f64"}}
            bool negative = (x >> 63) != 0ul;
            uint e = (uint)(x >> 52) & 0x7ffu;
            ulong m = x & 0x000ffffffffffffful;
            if (e == 0x7ffu) {
{{- else}}
            bool negative = (x >> 31) != 0u;
            uint e = (x >> 23) & 0xffu;
            ulong m = (ulong)(x & 0x007fffffu);
            if (e == 0xffu) {
{{- end}}
                s.nan += (ulong)(m != 0ul);
                s.pos_inf += (ulong)(m == 0ul && !negative);
                s.neg_inf += (ulong)(m == 0ul && negative);
                continue;
            }
            if (e != 0u) {
{{- if eq .In.Name "f64"}}
                m |= 0x0010000000000000ul;
                e--;
            }
{{- else}}
                m |= 0x00800000ul;
                e--;
            }
            e += 925u; // 1074 - 149
{{- end}}
            // m * 2^(e - 1074), by digits
            uint k = e >> 4;
            ulong low = m << (e & 15u);
            for (uint i = k; low != 0ul; i++) {
                int d = (int)(low & 0xfffful);
                if (d != 0) atomic_fetch_add_explicit(&digits[i], negative ? -d : d, memory_order_relaxed);
                low >>= 16;
            }
{{- if eq .In.Name "f64"}}
            int top = (int)((m >> 1) >> (63u - (e & 15u)));
            if (top != 0) atomic_fetch_add_explicit(&digits[k + 4u], negative ? -top : top, memory_order_relaxed);
{{- end}}
        }
        // An int holds the sum of {{.Tile}} digits of 16 bits, not of many more.
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (tid < {{.ExactDigits}}u) {
            digit += (long)atomic_load_explicit(&digits[tid], memory_order_relaxed);
            atomic_store_explicit(&digits[tid], 0, memory_order_relaxed);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
{{- if not .ANulls}}
    s.valid = s.rows;
{{- end}}
{{template "tree" .}}
    device ulong* to = partials + ((ulong)p.first + group) * {{.ExactWords}}ul;
    if (tid == 0u) {
{{- range $i, $f := .State.Fields}}
        to[{{$i}}] = s.{{$f.Name}};
{{- end}}
    }
    if (tid < {{.ExactDigits}}u) to[{{len .State.Fields}}u + tid] = (ulong)digit;
}

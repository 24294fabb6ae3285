// Sum of the rows without rounding, added to a superaccumulator: digit i has the weight 2^(16 i - 1074).
//
// A thread splits each number into {{.Slices}} slices of 42 bits by adding it to sums that start at 1.5 * 2^k: the addition
// rounds to a multiple of the sum's last place, the difference of the two sums is what went in, and what it lacks is left
// for the next slice, all exactly. The slices' sums are integers in units of their last place. A number that is too large
// for the slices raises them, and what is left under the last one goes to the digits by itself.
kernel void {{.Name}}(
{{.Parameters}})
{
    threadgroup atomic_ulong words[{{.ExactWords}}]; // a state
    ulong group = group_index(tg);
    if (group >= (ulong)p.groups) return;
    ulong n = {{.Rows}};
    uint tid = sg * 32u + lane;
    if (tid < {{.ExactWords}}u) atomic_store_explicit(&words[tid], 0ul, memory_order_relaxed);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong rows = 0ul;
{{- if .ANulls}}
    uint alive = 0u;
{{- end}}
    uint limit = 73u; // the largest exponent field that the slices take: 73 leaves nothing under the last
    uint next = limit;
    uint since = 0u; // additions since the slices' sums were put into totals,
    uint held = 0u;  // and since totals were put into digits
    double sums[{{.Slices}}];
    ulong totals[{{.Slices}}];
    for (uint i = 0u; i < {{.Slices}}u; i++) {
        sums[i] = as_type<double>(slice_start(limit, i));
        totals[i] = 0ul;
    }
    for (ulong first = group * {{.Tile}}ul; first < n; first += (ulong)p.groups * {{.Tile}}ul) {
        ulong end = n - first < {{.Tile}}ul ? n : first + {{.Tile}}ul;
        if (tid == 0u) rows += end - first;
        for (uint b = 0u; b < {{div .Tile .Threads}}u; b += 8u) {
            ulong x[8];
            uint top = 0u;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                ulong row = first + (ulong)((b + j) * {{.Threads}}u + tid);
                bool live = row < end;
{{- if .ANulls}}
                live = live && bit_at(valid, p.valid + row);
                alive += live ? 1u : 0u;
{{- end}}
{{- if eq .In.Name "f64"}}
                x[j] = live ? in[p.off + row] : 0ul;
{{- else}}
                x[j] = as_type<ulong>((double)as_type<float>(live ? in[p.off + row] : 0u));
{{- end}}
            }
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) top = max(top, (uint)(x[j] >> 32) & 0x7fffffffu);
            top >>= 20;
            if (simd_any(top > next)) {
                if (top > 2034u) {
                    // Numbers near the largest have no start above them; NaN and infinities are counted.
                    top = 0u;
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) {
                        uint e = (uint)(x[j] >> 52) & 0x7ffu;
                        if (e == 2047u) {
                            uint kind = (x[j] << 12) != 0ul ? {{.ExactNaN}}u : {{.ExactPosInf}}u + (uint)(x[j] >> 63);
                            atomic_fetch_add_explicit(&words[kind], 1ul, memory_order_relaxed);
                        } else if (e > 2034u) {
                            add_number(words + {{.ExactDigit0}}, x[j]);
                        }
                        if (e > 2034u) x[j] = 0ul;
                        else top = max(top, e);
                    }
                }
                uint most = simd_max(top);
                if (most > next) next = min(most + 1u, 2034u);
            }
            if (next != limit || since == 1024u) {
                for (uint i = 0u; i < {{.Slices}}u; i++) {
                    totals[i] += as_type<ulong>(sums[i]) - slice_start(limit, i);
                }
                held += since;
                since = 0u;
                if (next != limit || held >= 8192u) {
                    for (uint i = 0u; i < {{.Slices}}u; i++) {
                        ulong t = totals[i];
                        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
                        bool negative = (t >> 63) != 0ul;
                        if (lane == i) add_digits(words + {{.ExactDigit0}}, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
                        totals[i] = 0ul;
                    }
                    held = 0u;
                    limit = next;
                }
                for (uint i = 0u; i < {{.Slices}}u; i++) sums[i] = as_type<double>(slice_start(limit, i));
            }
            ulong rest = 0ul;
            #pragma unroll
            for (uint j = 0u; j < 8u; j++) {
                double r = as_type<double>(x[j]);
                #pragma unroll
                for (uint i = 0u; i < {{.Slices}}u; i++) {
                    double s = sums[i] + r;
                    r = r - (s - sums[i]);
                    sums[i] = s;
                }
                x[j] = as_type<ulong>(r);
                rest |= x[j] << 1;
            }
            since += 8u;
            if (simd_any(rest != 0ul)) {
                if (rest != 0ul) {
                    #pragma unroll
                    for (uint j = 0u; j < 8u; j++) add_number(words + {{.ExactDigit0}}, x[j]);
                }
                uint most = simd_max(top);
                if (most + 16u < limit) next = max(most + 1u, 73u);
            }
        }
    }
    for (uint i = 0u; i < {{.Slices}}u; i++) {
        ulong t = totals[i] + (as_type<ulong>(sums[i]) - slice_start(limit, i));
        for (ushort d = 16; d > 0; d >>= 1) t += shuffle_xor(t, d);
        bool negative = (t >> 63) != 0ul;
        if (lane == i) add_digits(words + {{.ExactDigit0}}, negative ? 0ul - t : t, negative, limit + 11u - 42u * i);
    }
    if (tid == 0u) {
        atomic_fetch_add_explicit(&words[0], rows, memory_order_relaxed);
{{- if not .ANulls}}
        atomic_fetch_add_explicit(&words[1], rows, memory_order_relaxed);
{{- end}}
    }
{{- if .ANulls}}
    alive = simd_sum(alive);
    if (lane == 0u) atomic_fetch_add_explicit(&words[1], (ulong)alive, memory_order_relaxed);
{{- end}}
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid < {{.ExactWords}}u) {
        ulong v = atomic_load_explicit(&words[tid], memory_order_relaxed);
        if (v != 0ul) atomic_fetch_add_explicit(partials + (ulong)p.first * {{.ExactWords}}ul + (ulong)tid, v, memory_order_relaxed);
    }
}

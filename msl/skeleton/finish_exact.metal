// {{.Op}} from the superaccumulators of all threadgroups, rounded once.
kernel void {{.Name}}(
{{.Parameters}})
{
    threadgroup ulong parts[{{div .Threads 32}} * {{.ExactWords}}];
    threadgroup ulong word[{{.ExactWords}}]; // the words of a state, summed over the states
    threadgroup uint lowest[{{div .Threads 32}}];
    threadgroup uint highest[{{div .Threads 32}}];
    if (group_index(tg) != 0ul) return;
    uint tid = sg * 32u + lane;
    for (uint w = lane; w < {{.ExactWords}}u; w += 32u) {
        ulong sum = 0ul;
        for (uint i = sg; i < p.states; i += {{div .Threads 32}}u) sum += partials[(ulong)i * {{.ExactWords}}ul + (ulong)w];
        parts[sg * {{.ExactWords}}u + w] = sum;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    uint low = {{.ExactDigits}}u; // the range of digits that are not zero
    uint high = 0u;
    if (tid < {{.ExactWords}}u) {
        ulong sum = 0ul;
        for (uint i = 0u; i < {{div .Threads 32}}u; i++) sum += parts[i * {{.ExactWords}}u + tid];
        word[tid] = sum;
        if (tid >= {{.ExactDigit0}}u && sum != 0ul) {
            low = tid - {{.ExactDigit0}}u;
            high = low + 1u;
        }
    }
    low = simd_min(low);
    high = simd_max(high);
    if (lane == 0u) {
        lowest[sg] = low;
        highest[sg] = high;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (tid != 0u) return;
    for (uint i = 1u; i < {{div .Threads 32}}u; i++) {
        low = min(low, lowest[i]);
        high = max(high, highest[i]);
    }

    // Carries: digits become 16 bits each; what is left over goes to the digits above.
    long carry = 0;
    for (uint i = low; i < high; i++) {
        long d = (long)word[{{.ExactDigit0}}u + i] + carry;
        word[{{.ExactDigit0}}u + i] = (ulong)d & 0xfffful;
        carry = d >> 16;
    }
    bool negative = carry < 0;
    if (negative) {
        ulong one = 1ul;
        for (uint i = low; i < high; i++) {
            ulong d = (word[{{.ExactDigit0}}u + i] ^ 0xfffful) + one;
            word[{{.ExactDigit0}}u + i] = d & 0xfffful;
            one = d >> 16;
        }
        carry = ~carry + (long)one;
    }
    for (; carry != 0 && high < {{.ExactDigits}}u; high++) {
        word[{{.ExactDigit0}}u + high] = (ulong)carry & 0xfffful;
        carry >>= 16;
    }

    uint top = high == 0u ? 0u : high - 1u;
    while (top > low && word[{{.ExactDigit0}}u + top] == 0ul) top--;
    // The 64 bits from digit top down, and whether any bit below them is set.
    ulong bits = 0ul;
    ulong below = 0ul;
    for (uint i = 0u; i <= top && top - i >= low; i++) {
        ulong d = word[{{.ExactDigit0}}u + top - i];
        if (i < 4u) bits |= d << (48u - 16u * i);
        else below |= i == 4u ? d << 1 : (ulong)(d != 0ul);
    }
    ulong sum;
    if (carry != 0) {
        sum = 0x7ff0000000000000ul;
    } else if (bits == 0ul) {
        sum = 0ul;
    } else {
        // Leading one to bit 63. Digit 4, shifted by one, gives the bits that move in.
        uint shift = (uint)clz((uint)(bits >> 32));
        bits = (bits << shift) | (below >> (17u - shift));
        below &= (1ul << (17u - shift)) - 1ul;
        uint place = 16u * top + 15u - shift; // weight of the leading one: 2^(place - 1074)
        if (place < 53u) {
            sum = bits >> (63u - place); // exact, subnormal or of the smallest exponent
        } else {
            // 53 bits, to nearest, ties to even.
            ulong rest = (bits & 0x7fful) | (ulong)(below != 0ul);
            ulong up = (rest + 0x3fful + ((bits >> 11) & 1ul)) >> 11;
            sum = ((ulong)(place - 52u) << 52) + (bits >> 11) + up;
            if (sum > 0x7ff0000000000000ul) sum = 0x7ff0000000000000ul;
        }
    }
    if (negative) sum |= 0x8000000000000000ul;

    bool pos_inf = word[{{.ExactPosInf}}] != 0ul;
    bool neg_inf = word[{{.ExactNegInf}}] != 0ul;
    if (pos_inf) sum = 0x7ff0000000000000ul;
    if (neg_inf) sum = 0xfff0000000000000ul;
    if (word[{{.ExactNaN}}] != 0ul || (pos_inf && neg_inf)) sum = 0x7ff8000000000000ul;

    ulong rows = word[0];
    ulong valid = word[1];
    bool ok = valid >= (ulong)p.min_count && (p.skip_nulls != 0u || valid == rows);
    out[0] = ok ? {{if eq .Op "mean"}}sf64_div(sum, sf64_from_ulong(valid)){{else}}sum{{end}} : 0ul;
    out_valid[0] = ok ? 1u : 0u;
}

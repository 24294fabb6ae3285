// All words of out to one value.
kernel void {{.Name}}(
{{.Parameters}})
{
    ulong first = group_index(tg) * {{.FillWords}}ul;
    for (uint i = sg * 32u + lane; i < {{.FillWords}}u; i += {{.Threads}}u) {
        if (first + (ulong)i < p.words) out[first + (ulong)i] = p.value;
    }
}

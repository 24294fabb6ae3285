package oracle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	preamble = "#include <metal_stdlib>\nusing namespace metal;\n"
	grid     = ", uint i [[thread_position_in_grid]]) "
)

// kernel is a text of one kernel over a and o, after some declarations.
func kernel(declarations, body string) string {
	return preamble + declarations + "\nkernel void k(device const long* a [[buffer(0)]], device long* o [[buffer(1)]],\n" +
		"    constant uint& n [[buffer(2)]], device atomic_uint* c [[buffer(3)]]" + grid + "{ " + body + " }\n"
}

// TestWrongTextsAreRejected has a row for each rule: a text that breaks it, what the compiler must say, and the same text
// without the fault, which must pass.
func TestWrongTextsAreRejected(t *testing.T) {
	compiler := clang(t)
	for _, row := range []struct{ name, wrong, says, right string }{
		{
			"a pointer without an address space",
			kernel("static long f(const long* p) { return p[0]; }", "o[i] = f(a + i);"), "no address space",
			kernel("static long f(device const long* p) { return p[0]; }", "o[i] = f(a + i);"),
		},
		{
			"a reference without an address space",
			kernel("static void f(long& x) { x = 1; }", "long x = 0; f(x); o[i] = x;"), "no address space",
			kernel("static void f(thread long& x) { x = 1; }", "long x = 0; f(x); o[i] = x;"),
		},
		{
			"a member without an address space",
			kernel("struct S { long* p; };", "o[i] = a[i];"), "no address space",
			kernel("struct S { device long* p; };", "o[i] = a[i];"),
		},
		{
			"a cast that drops the address space",
			kernel("", "o[i] = *(const long*)a;"), "no address space",
			kernel("", "o[i] = *(device const long*)a;"),
		},
		{
			"threadgroup memory where device memory is wanted",
			kernel("static long f(device const long* p) { return p[0]; }", "threadgroup long t[32]; t[i] = 1; o[i] = f(t);"),
			"no matching function",
			kernel("static long f(threadgroup const long* p) { return p[0]; }", "threadgroup long t[32]; t[i] = 1; o[i] = f(t);"),
		},
		{
			"a device pointer kept in a thread pointer",
			kernel("", "thread long* p = o; *p = a[i];"), "cannot initialize",
			kernel("", "device long* p = o; *p = a[i];"),
		},
		{
			"threadgroup memory outside a kernel",
			kernel("static uint f() { threadgroup uint x[4]; return x[0]; }", "o[i] = f();"), "outside a kernel|kernel function|non-kernel",
			kernel("static uint f(threadgroup uint* x) { return x[0]; }", "threadgroup uint x[4]; o[i] = f(x);"),
		},
		{
			"threadgroup memory with an initial value",
			kernel("", "threadgroup uint x = 3; o[i] = x;"), "initializ",
			kernel("", "threadgroup uint x; x = 3; o[i] = x;"),
		},
		{
			"a global that can change",
			kernel("uint calls = 0;", "calls++; o[i] = a[i];"), "address space",
			kernel("constant uint calls = 0;", "o[i] = a[i] + calls;"),
		},
		{
			"a static variable in a function",
			kernel("static uint f() { static uint x = 0; return x++; }", "o[i] = f();"), "address space",
			kernel("static uint f() { uint x = 0; return x++; }", "o[i] = f();"),
		},
		{
			"a write to constant memory", kernel("", "n = 3; o[i] = a[i];"), "const|read-only|cannot assign",
			kernel("", "uint m = n; m = 3; o[i] = a[i] + m;"),
		},
		{
			"double", kernel("", "double d = 1.5; o[i] = (long)d;"), "double|fp64",
			kernel("", "float d = 1.5f; o[i] = (long)d;"),
		},
		{
			"double in a parameter", kernel("static long f(double d) { return (long)d; }", "o[i] = a[i];"), "double|fp64",
			kernel("static long f(float d) { return (long)d; }", "o[i] = a[i];"),
		},
		{
			"a 64-bit sum of a SIMD-group", kernel("", "o[i] = simd_sum(a[i]);"), "32 bits",
			kernel("", "o[i] = simd_sum((uint)a[i]);"),
		},
		{
			"a 64-bit shuffle", kernel("", "o[i] = simd_shuffle_xor(a[i], (ushort)1);"), "32 bits",
			kernel("", "o[i] = as_type<long>(simd_shuffle_xor(as_type<uint2>(a[i]), (ushort)1));"),
		},
		{
			"a ballot as a number", kernel("", "o[i] = simd_ballot(a[i] > 0);"), "no viable conversion|incompatible|cannot initialize|assigning",
			kernel("", "o[i] = (long)(simd_vote::vote_t)simd_ballot(a[i] > 0);"),
		},
		{
			"64-bit atomics", kernel("", "device atomic_ulong* x = (device atomic_ulong*)o; atomic_store_explicit(x, 1, memory_order_relaxed);"),
			"atomic_ulong|no matching function|requires|unknown type",
			kernel("", "atomic_store_explicit(c, 1u, memory_order_relaxed);"),
		},
		{
			"an order stronger than relaxed", kernel("", "atomic_store_explicit(c, 1u, memory_order_release);"), "memory_order_release",
			kernel("", "atomic_store_explicit(c, 1u, memory_order_relaxed);"),
		},
		{
			"an atomic read as a number", kernel("", "o[i] = c[0];"), "incompatible|no viable conversion|assigning",
			kernel("", "o[i] = atomic_load_explicit(c, memory_order_relaxed);"),
		},
		{
			"a cast between sizes", kernel("", "o[i] = as_type<long>((uint)a[i]);"), "equal sizes",
			kernel("", "o[i] = as_type<long>(as_type<uint2>(a[i]));"),
		},
		{
			"recursion by pointer to function", kernel("static long f(long x) { return x; }", "long (*g)(long) = f; o[i] = g(a[i]);"),
			"function", kernel("static long f(long x) { return x; }", "o[i] = f(a[i]);"),
		},
		{
			"an exception", kernel("", "throw 1; o[i] = a[i];"), "exception|throw|not supported", kernel("", "o[i] = a[i];"),
		},
		{
			"memory from new", kernel("", "o[i] = *new long(3);"), "new", kernel("", "o[i] = 3;"),
		},
		{
			"a virtual function", kernel("struct S { virtual long f() { return 1; } };", "o[i] = a[i];"), "virtual",
			kernel("struct S { long x; };", "o[i] = a[i];"),
		},
		{
			"a name that is not there", kernel("", "o[i] = simd_magic(a[i]);"), "undeclared", kernel("", "o[i] = a[i];"),
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Regexp(t, "error: .*("+row.says+")", complaints(t, compiler, row.wrong, false))
			require.Empty(t, complaints(t, compiler, row.right, false))
		})
	}
}

// TestSpoiltGoldensAreRejected takes address spaces and type suffixes from a text that passes.
func TestSpoiltGoldensAreRejected(t *testing.T) {
	compiler := clang(t)
	text, err := os.ReadFile(filepath.Join(goldens, "add_f64.metal"))
	require.NoError(t, err)
	require.Empty(t, complaints(t, compiler, string(text), false))
	for _, row := range []struct{ old, new, says string }{
		{"device const", "const", "address space"},
		{"thread uint&", "uint&", "address space"},
		{"constant Args&", "device Args", "error"},
		{"ulong bits;", "double bits;", "double"},
	} {
		require.Contains(t, string(text), row.old)
		require.Contains(t, complaints(t, compiler, strings.Replace(string(text), row.old, row.new, 1), false), row.says, row.old)
	}
}

// TestDoubleIsForDevicesThatHaveIt shows that the texts for them are not rejected for it, and that others would be.
func TestDoubleIsForDevicesThatHaveIt(t *testing.T) {
	compiler := clang(t)
	text, err := os.ReadFile(filepath.Join(goldens, "add_f64_native.metal"))
	require.NoError(t, err)
	require.Empty(t, complaints(t, compiler, string(text), true))
	require.Contains(t, complaints(t, compiler, string(text), false), "double")
}

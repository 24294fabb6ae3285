package msl

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// softShim stands in for a device's prelude under g++. Only what SoftFloat64
// says it uses is there, so that a new dependency fails to compile. The
// overload of clz for ulong is deleted because not every prelude has it.
const softShim = `
#include <cstdio>
#include <cstring>
#include <vector>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
typedef unsigned int uint;
typedef unsigned long ulong;
static_assert(sizeof(long) == 8, "long has 64 bits in MSL");
static inline uint clz(uint x) { return x ? (uint)__builtin_clz(x) : 32u; }
uint clz(ulong) = delete;
template <class D, class S> static inline D as_type(S s) {
    static_assert(sizeof(D) == sizeof(S), "as_type needs equal sizes");
    D d;
    memcpy(&d, &s, sizeof d);
    return d;
}
`

// softShimDouble is what NativeFloat64 uses besides.
const softShimDouble = `
static inline double sqrt(double x) { return __builtin_sqrt(x); }
`

// softMain reads records of two words from standard input and writes the
// results of each. Arguments: text (soft or native), width (64 or 32), and
// whether the thread flushes subnormals as a Metal GPU does.
const softMain = `
// What Metal does to float32: subnormal operands and results become zero.
static void flush_subnormals() {
#if defined(__x86_64__)
    _mm_setcsr(_mm_getcsr() | 0x8040);
#elif defined(__aarch64__)
    ulong fpcr;
    asm volatile("mrs %0, fpcr" : "=r"(fpcr));
    asm volatile("msr fpcr, %0" : : "r"(fpcr | (1ul << 24)));
#endif
}

#define RESULTS64(ns)                                                         \
    static void ns##_results64(ulong a, ulong b, ulong* r) {                  \
        using namespace ns;                                                   \
        r[0] = sf64_add(a, b);                                                \
        r[1] = sf64_sub(a, b);                                                \
        r[2] = sf64_mul(a, b);                                                \
        r[3] = sf64_div(a, b);                                                \
        r[4] = (ulong)sf64_lt(a, b) | (ulong)sf64_le(a, b) << 1 |             \
               (ulong)sf64_eq(a, b) << 2 | (ulong)sf64_isnan(a) << 3 |        \
               (ulong)(sf64_total_key(a) < sf64_total_key(b)) << 4;           \
        r[5] = sf64_from_long((long)a);                                       \
        r[6] = sf64_from_ulong(a);                                            \
        r[7] = sf64_from_float_bits((uint)a);                                 \
        r[8] = sf64_to_float_bits(a);                                         \
        r[9] = sf64_from_u128(a, b);                                          \
        r[10] = sf64_from_i128((long)a, b);                                   \
        r[11] = sf64_sqrt(a);                                                 \
        r[12] = (ulong)sf64_to_long(a);                                       \
        r[13] = sf64_to_ulong(a);                                             \
        r[14] = sf32_from_long((long)a);                                      \
        r[15] = sf32_from_ulong(a);                                           \
    }
#define RESULTS32(ns)                                                         \
    static void ns##_results32(uint a, uint b, uint* r) {                     \
        using namespace ns;                                                   \
        r[0] = sf32_add(a, b);                                                \
        r[1] = sf32_sub(a, b);                                                \
        r[2] = sf32_mul(a, b);                                                \
        r[3] = sf32_div(a, b);                                                \
        r[4] = sf32_sqrt(a);                                                  \
    }
RESULTS64(soft) RESULTS64(native) RESULTS32(soft) RESULTS32(native)

template <class W, int N> static int serve(void (*results)(W, W, W*)) {
    const size_t rows = 4096;
    std::vector<W> in(2 * rows), out(N * rows);
    for (;;) {
        size_t n = fread(in.data(), 2 * sizeof(W), rows, stdin);
        if (n == 0) return 0;
        for (size_t i = 0; i < n; i++) results(in[2 * i], in[2 * i + 1], &out[N * i]);
        if (fwrite(out.data(), N * sizeof(W), n, stdout) != n) return 1;
    }
}

int main(int argc, char** argv) {
    if (argc != 4) return 2;
    bool soft = !strcmp(argv[1], "soft");
    if (!strcmp(argv[3], "flush")) flush_subnormals();
    if (!strcmp(argv[2], "64")) return serve<ulong, 16>(soft ? soft_results64 : native_results64);
    return serve<uint, 5>(soft ? soft_results32 : native_results32);
}
`

// buildSoftFloat compiles both texts into one program and returns its path.
func buildSoftFloat(t *testing.T, flags ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles kernel text with g++, which -short leaves out")
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Fatal("needs g++: the binary64 kernel text is checked by compiling it (use -short to leave this out)")
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "softfloat.cpp")
	text := strings.Join([]string{
		softShim,
		"namespace soft {", SoftFloat64(), "}",
		"namespace native {", softShimDouble, NativeFloat64(), "}",
		softMain,
	}, "\n")
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "softfloat")
	args := append([]string{"-std=c++17", "-ffp-contract=off", "-o", program, source}, flags...)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if out, err := exec.CommandContext(ctx, compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("g++: %v\n%s", err, out)
	}
	return program
}

package msl

import (
	"regexp"
	"strings"
	"testing"
)

// softSignatures is what kernels may call, whichever text a device gets.
var softSignatures = []string{
	"ulong sf64_add(ulong a, ulong b)",
	"ulong sf64_sub(ulong a, ulong b)",
	"ulong sf64_mul(ulong a, ulong b)",
	"ulong sf64_div(ulong a, ulong b)",
	"ulong sf64_sqrt(ulong a)",
	"bool sf64_lt(ulong a, ulong b)",
	"bool sf64_le(ulong a, ulong b)",
	"bool sf64_eq(ulong a, ulong b)",
	"bool sf64_isnan(ulong a)",
	"ulong sf64_total_key(ulong a)",
	"ulong sf64_from_long(long x)",
	"ulong sf64_from_ulong(ulong x)",
	"ulong sf64_from_u128(ulong hi, ulong lo)",
	"ulong sf64_from_i128(long hi, ulong lo)",
	"ulong sf64_from_float_bits(uint a)",
	"uint sf64_to_float_bits(ulong a)",
	"long sf64_to_long(ulong a)",
	"ulong sf64_to_ulong(ulong a)",
	"uint sf32_from_long(long x)",
	"uint sf32_from_ulong(ulong x)",
	"uint sf32_add(uint a, uint b)",
	"uint sf32_sub(uint a, uint b)",
	"uint sf32_mul(uint a, uint b)",
	"uint sf32_div(uint a, uint b)",
	"uint sf32_sqrt(uint a)",
}

func TestSoftFloatTextsAgreeOnNames(t *testing.T) {
	for name, text := range map[string]string{"soft": SoftFloat64(), "native": NativeFloat64()} {
		for _, signature := range softSignatures {
			if n := strings.Count(text, "static inline "+signature+" {"); n != 1 {
				t.Errorf("%s text defines %s %d times, want once", name, signature, n)
			}
		}
	}
}

// TestSoftFloatTextIsMetal holds the soft text to what Metal lacks or forbids.
func TestSoftFloatTextIsMetal(t *testing.T) {
	code := regexp.MustCompile(`(?m)//.*$`).ReplaceAllString(SoftFloat64(), "")
	for _, word := range []string{"double", "goto", "template", "int64_t", "long long", "union", "sqrt"} {
		if regexp.MustCompile(`\b` + word + `\b`).MatchString(code) {
			t.Errorf("soft text uses %q", word)
		}
	}
	native := regexp.MustCompile(`(?m)^.*\bfloat\b.*$`)
	for _, line := range native.FindAllString(code, -1) {
		if !strings.Contains(line, "uint r = as_type<uint>(as_type<float>(a)") {
			t.Errorf("soft text uses float outside the settled path: %s", line)
		}
	}
}

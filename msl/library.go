package msl

import (
	"embed"
	"strconv"
	"strings"
	"sync"
)

// The library holds the functions that kernels call, a chunk each: a kernel's text contains the chunks it reaches and
// no others.
//
// An op's expression may use, on a and b of every type of numbers:
//
//	+ - * / == != < <= > >=                         of C, on f32 and f64 those of IEEE-754 (integers: / is undefined by 0)
//	add_wrap, sub_wrap, mul_wrap(a, b)              integers wrap
//	div_wrap(a, b, bad)                             integers: by zero raises, the smallest value by -1 is 0
//	add_checked, sub_checked, mul_checked(a, b, bad) integers raise overflow; floats are as unchecked
//	div_checked(a, b, bad)                          by zero raises, floats too
//	neg_wrap, abs_wrap(a), neg_checked, abs_checked(a, bad)
//	sign_of(a)                                      -1, 0, 1: char of integers, NaN of NaN
//	is_nan(a)                                       false for integers and bool
//	order_key(a)                                    a ulong that orders like a, -0 below +0
//	cast_wrap(a), cast_checked(a, bad)              a as the result's type: see casts
//
// and on integers & | ^ ~, shift_left, shift_right(a, b), shift_left_checked, shift_right_checked(a, b, bad), on floats
// is_inf, is_finite, root(a), root_checked(a, bad), integral(a, mode), round_to(a, unit, mode, bad).
//
// Files named after a class of types are instantiated for each type. In them T is the type, U the unsigned type of its
// width, W the unsigned type that sums are made in, P the type of products, MIN the smallest value, BITS the bits of a number without its sign, and sf_ the prefix
// of the arithmetic on its bit pattern.

//go:embed library/*.metal
var libraryFiles embed.FS

// chunk is a function, struct or macro of the library with the comment before it.
type chunk struct {
	name string // an operator's is "operator+"
	text string
}

var library = sync.OnceValue(func() map[string][]chunk {
	m := map[string][]chunk{
		"soft":   split(SoftFloat64()),
		"native": split(NativeFloat64()),
	}
	for _, name := range []string{"common", "lookback", "exact", "signed", "signed64", "unsigned", "unsigned64", "product", "float", "float32", "float64", "bool"} {
		text, err := libraryFiles.ReadFile("library/" + name + ".metal")
		if err != nil {
			panic("msl: " + err.Error()) // the file is part of the package
		}
		m[name] = split(string(text))
	}
	return m
})

// split cuts library text into chunks. A chunk ends with an unindented line that ends with a brace, or with a macro.
func split(text string) []chunk {
	var list []chunk
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		if line == "" && len(lines) == 0 {
			continue
		}
		lines = append(lines, line)
		closes := strings.HasSuffix(line, "}") || line == "};"
		if closes && line[0] != ' ' && !strings.HasPrefix(line, "//") || strings.HasPrefix(line, "#define ") {
			list = append(list, chunk{chunkName(lines), strings.Join(lines, "\n") + "\n"})
			lines = nil
		}
	}
	return list
}

// chunkName finds what the first line that is no comment defines.
func chunkName(lines []string) string {
	for len(lines) > 1 && (lines[0] == "" || strings.HasPrefix(lines[0], "//")) {
		lines = lines[1:]
	}
	line := lines[0]
	if strings.HasPrefix(line, "#define ") || strings.HasPrefix(line, "struct ") {
		return strings.Trim(strings.Fields(line)[1], "{")
	}
	head, _, _ := strings.Cut(line, "(")
	return head[strings.LastIndexByte(head, ' ')+1:]
}

// link returns the chunks that text and the operators among the roots reach, in the library's order, for a kernel of key k.
func link(k Key, text string, roots []string) string {
	chunks := available(k)
	byName := map[string][]int{}
	for i, c := range chunks {
		byName[c.name] = append(byName[c.name], i)
	}
	used := make([]bool, len(chunks))
	todo := words(text)
	for _, r := range roots {
		if !wordByte(r[0]) {
			r = "operator" + r
		}
		todo = append(todo, r)
	}
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range byName[name] {
			if !used[i] {
				used[i] = true
				todo = append(todo, words(chunks[i].text)...)
			}
		}
	}
	var b strings.Builder
	for i, c := range chunks {
		if !used[i] {
			continue
		}
		b.WriteString(c.text)
		if !strings.HasPrefix(c.text, "#define ") || i+1 < len(chunks) && !strings.HasPrefix(chunks[i+1].text, "#define ") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// available lists the chunks a kernel may use, callees before callers.
func available(k Key) []chunk {
	lib := library()
	list := append(append([]chunk(nil), lib["common"]...), lib["lookback"]...)
	list = append(list, lib["exact"]...)
	if k.Caps&Float64 != 0 {
		list = append(list, lib["native"]...)
	} else {
		list = append(list, lib["soft"]...)
	}
	list = append(list, instantiate(k.In)...)
	if k.Out != k.In {
		list = append(list, instantiate(k.Out)...)
	}
	if k.Skeleton == Map {
		list = append(list, casts(k.In, k.Out)...)
	}
	return list
}

// instantiate returns the functions of a type.
func instantiate(t Type) []chunk {
	if !t.known() {
		return nil
	}
	info, lib := types[t], library()
	var list []chunk
	switch {
	case t.float():
		list = append(list, lib[info.library+strconv.Itoa(info.bits)]...)
		list = append(list, lib["float"]...)
	case t.integer():
		list = append(list, lib[info.library]...)
		if info.product == "" {
			list = append(list, lib[info.library+"64"]...)
		} else {
			list = append(list, lib["product"]...)
		}
	default:
		list = append(list, lib[info.library]...)
	}
	names := map[string]string{"T": info.Value, "U": info.unsigned, "W": info.wide, "P": info.product, "MIN": info.min, "BITS": strconv.Itoa(info.bits - btoi(info.Signed))}
	typed := make([]chunk, len(list))
	for i, c := range list {
		typed[i] = chunk{c.name, substitute(c.text, func(word string) string {
			if s, ok := names[word]; ok {
				return s
			}
			if strings.HasPrefix(word, "sf_") {
				return info.soft + word[2:]
			}
			return word
		})}
		if c.name == "T" {
			typed[i].name = info.Value
		}
	}
	return typed
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

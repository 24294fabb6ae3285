//go:build linux && (amd64 || arm64)

package cuda

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

// prelude gives kernel text its meaning in CUDA C++.
//
//go:embed prelude/metal.h
var prelude string

// textName is what compilers call the kernel's text, and names what they call the rest.
const textName = "program_source"

// launchBound is how many threads a threadgroup may have. A kernel may use more registers the fewer there are, and none
// of ours is dispatched with more.
const launchBound = 256

// param is one parameter of a compiled kernel.
type param struct {
	index     int  // of the buffer table
	reference bool // a constant reference
}

// program is kernel text made ready for a CUDA compiler.
type program struct {
	text   string
	params []param
}

// positions are the attributes of parameters that are no buffers: CUDA's expressions for x, y and z.
var positions = map[string][3]string{
	"thread_position_in_grid": {"blockIdx.x * blockDim.x + threadIdx.x", "blockIdx.y * blockDim.y + threadIdx.y",
		"blockIdx.z * blockDim.z + threadIdx.z"},
	"threadgroup_position_in_grid":   {"blockIdx.x", "blockIdx.y", "blockIdx.z"},
	"thread_position_in_threadgroup": {"threadIdx.x", "threadIdx.y", "threadIdx.z"},
	"threads_per_threadgroup":        {"blockDim.x", "blockDim.y", "blockDim.z"},
	"threadgroups_per_grid":          {"gridDim.x", "gridDim.y", "gridDim.z"},
	"threads_per_grid":               {"gridDim.x * blockDim.x", "gridDim.y * blockDim.y", "gridDim.z * blockDim.z"},
	"thread_index_in_threadgroup":    {"threadIdx.x", "0u", "0u"},
	"thread_index_in_simdgroup":      {"threadIdx.x & 31u", "0u", "0u"},
	"simdgroup_index_in_threadgroup": {"threadIdx.x >> 5", "0u", "0u"},
	"simdgroups_per_threadgroup":     {"(blockDim.x + 31u) >> 5", "0u", "0u"},
	"threads_per_simdgroup":          {"32u", "0u", "0u"},
}

// translate makes CUDA C++ of a kernel's text: the prelude, the text with MSL's attributes blanked so that lines and
// columns stay, and an entry with C linkage that calls the kernel. byAddress makes the entry take constant references
// as addresses, for buffers that are bound to them.
func translate(src gpu.Source, byAddress bool) (program, error) {
	tokens := lex(src.Text)
	at := findKernel(tokens, src.Name)
	if at < 0 {
		return program{}, &gpu.CompileError{Kernel: src.Name, Log: "the text has no kernel of this name"}
	}
	e := entry{src: src, byAddress: byAddress}
	if err := e.parameters(tokens[at:]); err != nil {
		return program{}, err
	}
	var b strings.Builder
	b.WriteString("#line 1 \"metal_prelude\"\n")
	b.WriteString(prelude)
	fmt.Fprintf(&b, "\nnamespace metal_program {\nMETAL_PROGRAM\n#line 1 %q\n", textName)
	b.WriteString(blank(src.Text, tokens))
	b.WriteString("\n#line 1 \"metal_entry\"\nnamespace entry {\n")
	b.WriteString(e.text())
	b.WriteString("}\n}\n")
	return program{b.String(), e.params}, nil
}

// findKernel returns the index of the parenthesis that opens a kernel's parameters, -1 if the text has no such kernel.
func findKernel(tokens []token, name string) int {
	for i := 0; i+3 < len(tokens); i++ {
		if tokens[i].text == "kernel" && tokens[i+1].text == "void" && tokens[i+2].text == name && tokens[i+3].text == "(" {
			return i + 3
		}
	}
	return -1
}

// blank replaces what CUDA C++ does not know by as many spaces: attributes, includes of Metal's headers, and threadgroup
// where it qualifies what a pointer points to, since __shared__ is for variables.
func blank(text string, tokens []token) string {
	out := []byte(text)
	erase := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(text); i += lineLength(text[i:]) + 1 {
		line := text[i : i+lineLength(text[i:])]
		if rest, ok := strings.CutPrefix(strings.TrimLeft(line, " \t"), "#"); ok {
			rest = strings.TrimLeft(strings.TrimPrefix(strings.TrimLeft(rest, " \t"), "include"), " \t")
			if strings.HasPrefix(rest, "<metal_") || strings.HasPrefix(rest, "<simd/") {
				erase(i, i+len(line))
			}
		}
	}
	var b strings.Builder
	from := 0
	for i, t := range tokens {
		switch {
		case t.attribute():
			erase(t.at, t.end())
		case t.text == "threadgroup" && pointsAt(tokens[i+1:]):
			erase(t.at, t.end())
		case t.text == "threadgroup":
			b.Write(out[from:t.at])
			b.WriteString("__shared__")
			from = t.end()
		}
	}
	b.Write(out[from:])
	return b.String()
}

// pointsAt says whether a type begins the tokens that is followed by * or &.
func pointsAt(tokens []token) bool {
	depth := 0
	for _, t := range tokens {
		switch {
		case t.text == "<":
			depth++
		case t.text == ">":
			depth--
		case depth > 0 || t.word() || t.text == ":":
		default:
			return t.text == "*" || t.text == "&"
		}
	}
	return false
}

// entry writes the function that CUDA launches.
type entry struct {
	src       gpu.Source
	byAddress bool
	params    []param
	declared  []string // its parameters
	passed    []string // the kernel's arguments
	checks    strings.Builder
}

// parameters reads the kernel's parameters from their opening parenthesis on.
func (e *entry) parameters(tokens []token) error {
	depth, from := 0, 1
	for i, t := range tokens {
		switch t.text {
		case "(", "<", "[":
			depth++
		case ")", ">", "]":
			depth--
		}
		if depth == 0 || depth == 1 && t.text == "," {
			if i > from {
				if err := e.parameter(tokens[from:i]); err != nil {
					return err
				}
			}
			from = i + 1
		}
		if depth == 0 {
			return nil
		}
	}
	return e.fail(tokens[0], "the kernel's parameters do not end")
}

// parameter reads one: a type, a name and an attribute.
func (e *entry) parameter(tokens []token) error {
	last := tokens[len(tokens)-1]
	if len(tokens) < 3 || !last.attribute() {
		return e.fail(tokens[0], "a parameter needs a type, a name and an attribute")
	}
	name := tokens[len(tokens)-2]
	typ := strings.TrimSpace(e.src.Text[tokens[0].at:name.at])
	attribute := strings.TrimSpace(strings.Trim(last.text, "[]"))
	if xyz, ok := positions[attribute]; ok {
		e.passed = append(e.passed, fmt.Sprintf("metal::position<%s>::of(%s, %s, %s)", typ, xyz[0], xyz[1], xyz[2]))
		return nil
	}
	number, ok := strings.CutPrefix(attribute, "buffer(")
	index, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(number), ")"))
	if !ok || err != nil || index < 0 || index >= record.MaxArgs {
		return e.fail(last, "the driver does not know the attribute "+last.text)
	}
	own := "b" + strconv.Itoa(index)
	pass := own
	of, reference := strings.CutSuffix(typ, "&")
	switch {
	case reference && e.byAddress:
		typ, pass = of+"*", "*"+own
	case reference:
		fmt.Fprintf(&e.checks, "static_assert(sizeof(%s) <= %d, \"too long to be passed by value\");\n", strings.TrimSpace(of), record.MaxBytes)
		typ = "METAL_BY_VALUE " + of
	}
	e.params = append(e.params, param{index, reference})
	e.declared = append(e.declared, strings.TrimRight(typ, " ")+" "+own)
	e.passed = append(e.passed, pass)
	return nil
}

func (e *entry) text() string {
	return e.checks.String() + fmt.Sprintf("extern \"C\" __global__ void __launch_bounds__(%d) %s(%s)\n{\n    metal_program::%[2]s(%[4]s);\n}\n",
		launchBound, e.src.Name, strings.Join(e.declared, ", "), strings.Join(e.passed, ", "))
}

// fail is an error of the text at a token.
func (e *entry) fail(at token, why string) error {
	line := 1 + strings.Count(e.src.Text[:at.at], "\n")
	return compileError(e.src, fmt.Sprintf("%s(%d): error: %s", textName, line, why))
}

package msl

import (
	"embed"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"text/template"
)

// Skeletons are templates of one kernel each; state.metal holds what reductions share.
//
//go:embed skeleton/*.metal
var skeletonFiles embed.FS

var skeletons = sync.OnceValues(func() (*template.Template, error) {
	t := template.New("").Funcs(template.FuncMap{"div": func(a, b int) int { return a / b }})
	return t.ParseFS(skeletonFiles, "skeleton/*.metal")
})

var builds atomic.Int64

// Builds returns how many kernel texts this process has generated.
func Builds() int64 { return builds.Load() }

// Text generates the kernel of a key: its name, which is the function's in the text too, and Metal Shading Language
// text that compiles by itself. Keys that differ only in abilities the text does not depend on give the same.
//
// The text is a function of the key and of what Define was told. An op or a combination of types and flags for which
// there is no kernel is an error. Text is safe for concurrent use once packages are initialised.
func Text(k Key) (name, text string, err error) {
	k = Canonical(k)
	kernel, err := describe(k)
	if err != nil {
		return "", "", err
	}
	t, err := skeletons()
	if err != nil {
		return "", "", fmt.Errorf("msl: skeletons: %w", err)
	}
	var body strings.Builder
	if err := t.ExecuteTemplate(&body, kernel.file+".metal", kernel); err != nil {
		return "", "", fmt.Errorf("msl: %s: %w", kernel.Name, err)
	}
	rest := argsStruct(kernel.args) + "\n" + strings.TrimLeft(body.String(), "\n")
	builds.Add(1)
	return kernel.Name, "#include <metal_stdlib>\nusing namespace metal;\n\n" + link(k, rest, kernel.roots) + rest, nil
}

// Canonical returns k without what its text does not depend on: abilities of the device, and the type of rows that are
// only counted. So a device's Caps can be put into every key and no kernel is built twice. It allocates nothing.
func Canonical(k Key) Key {
	switch k.Skeleton {
	case Map:
		if k.Op == OpCast {
			k = canonicalCast(k)
		}
		if !k.In.float() && !k.Out.float() {
			k.Caps = 0
		}
	case Finish, Aggregate:
		if counts(k.Op) {
			k.In = NoType
		}
		if k.Op != "mean" {
			k.Caps = 0
		}
	case ReduceExact: // double splits numbers
	case Reduce:
		if k.Op == OpCount {
			k.In = NoType
		}
		k.Caps = 0
	default:
		k.Caps = 0
	}
	k.Caps &= Float64
	return k
}

// counts says whether an aggregate looks at no values.
func counts(op string) bool { return op == "count" || op == "count_null" || op == "count_all" }

package gputest

import (
	"errors"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

var compileChecks = []check{
	{"Compile", checkCompile},
	{"CompileError", checkCompileError},
	{"CompileTwice", checkCompileTwice},
}

func checkCompile(b *bench) {
	for name := range kernels {
		p := b.compile(name)
		require.GreaterOrEqual(b, p.MaxThreads(), 256, name)
	}
}

func checkCompileError(b *bench) {
	broken := source("fill")
	broken.Text = strings.Replace(broken.Text, "out[i] = (uint)i + 1u;", "out[i] = undeclared_name;", 1)
	_, err := b.dev.Compile(broken)
	require.ErrorIs(b, err, gpu.ErrCompile)
	var e *gpu.CompileError
	require.True(b, errors.As(err, &e))
	require.Equal(b, "fill", e.Kernel)
	require.Contains(b, e.Log, "undeclared_name")
	require.Equal(b, strings.Count(broken.Text[:strings.Index(broken.Text, "undeclared_name")], "\n")+1, e.Line)
	require.Contains(b, e.Source, "undeclared_name")
	require.Contains(b, err.Error(), "undeclared_name")

	for _, src := range []gpu.Source{
		{Name: "other", Text: source("fill").Text}, // no kernel of this name
		{Name: "fill", Text: ""},
		{Name: "", Text: source("fill").Text},
	} {
		_, err = b.dev.Compile(src)
		require.ErrorIs(b, err, gpu.ErrCompile)
	}
	b.compile("fill") // the device is as good as before
}

// checkCompileTwice keeps two pipelines of one text apart.
func checkCompileTwice(b *bench) {
	first, err := b.dev.Compile(source("fill"))
	require.NoError(b, err)
	second := b.compile("fill")
	first.Release()
	first.Release()
	out, got := alloc[uint32](b, 5)
	b.run(second, 5, 32, out)
	require.Equal(b, []uint32{1, 2, 3, 4, 5}, got)
	c := b.dev.Commands()
	c.Dispatch(first, 1, 32, args(value(5, 32), out))
	_, err = c.Commit()
	require.ErrorIs(b, err, gpu.ErrClosed, "a pipeline cannot be used after Release")
}

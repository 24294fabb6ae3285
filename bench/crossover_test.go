package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/stretchr/testify/require"
)

func TestCrossoverPrintsTablesAndPlots(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "plot.svg")
	var out, progress bytes.Buffer
	args := []string{"crossover", "--device=cpu", "--rows-max=4000", "--repeat=1", "--type=float64", "--out=" + svg}
	require.NoError(t, run(t.Context(), args, &out, &progress))
	for _, f := range crossoverNames() {
		require.Contains(t, out.String(), f+"(float64)")
	}
	for _, want := range []string{"1,000", "2,000", "4,000", "only the CPU is measured", "crossover: none", svg} {
		require.Contains(t, out.String(), want)
	}
	text := readSVG(t, svg)
	for _, want := range []string{"rows [count]", "time of a call [µs]", "CPU only", "filter"} {
		require.Contains(t, text, want)
	}
	left, err := filepath.Glob(svg + ".*")
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestCrossoverTakesForeignMemoryAndSomeFunctions(t *testing.T) {
	svg := filepath.Join(t.TempDir(), "plot.svg")
	var out bytes.Buffer
	args := []string{"crossover", "--device=cpu", "--rows-max=1e3", "--repeat=1", "--functions=sum,Compare,greater", "--foreign", "--out=" + svg}
	require.NoError(t, run(t.Context(), args, &out, io.Discard))
	require.Equal(t, 1, strings.Count(out.String(), "greater(int64)"))
	require.NotContains(t, out.String(), "filter(int64)")
	require.Contains(t, out.String(), "arrow-go's default allocator")
	require.Contains(t, readSVG(t, svg), "foreign memory")
}

func TestCrossoverOnEmulatorSaysThatItIsNone(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the emulator exists on Linux alone")
	}
	svg := filepath.Join(t.TempDir(), "plot.svg")
	var out bytes.Buffer
	args := []string{"crossover", "--device=emulator", "--rows-max=1000", "--repeat=1", "--function=sum", "--out=" + svg}
	require.NoError(t, run(t.Context(), args, &out, io.Discard))
	require.GreaterOrEqual(t, strings.Count(out.String(), emulatorWarning), 2)
	require.NotContains(t, out.String(), "no times of")
	require.Contains(t, readSVG(t, svg), emulatorWarning)

	var q request
	q.repeat, q.out = 1, svg
	require.NoError(t, q.parse([]string{"sum"}, "int64", "10000000", emulatorName, false))
	require.Equal(t, rowsMaxOnEmulator, q.rowsMax)
}

func TestCrossoverEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	svg := filepath.Join(t.TempDir(), "plot.svg")
	err := run(ctx, []string{"crossover", "--device=cpu", "--out=" + svg}, io.Discard, io.Discard)
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, svg)
}

// readSVG checks that a file is well-formed XML, an svg element, and returns its text.
func readSVG(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	var text strings.Builder
	root := ""
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			if root == "" {
				root = token.Name.Local
			}
		case xml.CharData:
			text.Write(token)
		}
	}
	require.Equal(t, "svg", root)
	require.NotContains(t, string(data), "NaN")
	return text.String()
}

func TestCrossoverRefusesBadFlags(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--rows-max=999"}, "--rows-max"},
		{[]string{"--rows-max=1e12"}, "--rows-max"},
		{[]string{"--rows-max=many"}, "no number of rows"},
		{[]string{"--rows-max=1500.5"}, "no number of rows"},
		{[]string{"--repeat=0"}, "--repeat"},
		{[]string{"--function=sort"}, `no "sort"`},
		{[]string{"--function="}, "--function"},
		{[]string{"--type=utf8"}, `no "utf8"`},
		{[]string{"--device=abacus"}, "--device"},
		{[]string{"--out=plot.png"}, ".svg"},
		{[]string{"--out=/no/such/folder/plot.svg"}, "--out"},
		{[]string{"--speed=10"}, "unknown flag"},
		{[]string{"now"}, "unknown command"},
	} {
		var out bytes.Buffer
		err := run(t.Context(), append([]string{"crossover"}, c.args...), &out, io.Discard)
		require.ErrorContains(t, err, c.want, "%v", c.args)
		require.Empty(t, out.String(), "%v", c.args)
	}
}

func TestCrossing(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		name    string
		points  []point
		rows    int
		verdict string
	}{
		{"never", []point{{1000, us, 9 * us}, {10000, 2 * us, 9 * us}}, 0, "never up to 10,000 rows"},
		{"always", []point{{1000, 5 * us, us}, {10000, 50 * us, 2 * us}}, 1000, "1,000 rows or fewer, the least that was measured"},
		{"between", []point{{1000, 10 * us, 100 * us}, {100000, 1000 * us, 100 * us}}, 10000, "about 10,000 rows"},
		{"a lucky run is no crossover", []point{{1000, 3 * us, 2 * us}, {10000, 20 * us, 100 * us}}, 0, "never up to 10,000 rows"},
		{"a draw is no win", []point{{1000, us, us}}, 0, "never up to 1,000 rows"},
		{"after a draw", []point{{1000, us, us}, {10000, 10 * us, us}}, 1000, "about 1,000 rows"},
	} {
		s := series{points: c.points}
		require.Equal(t, c.rows, s.crossing().rows, c.name)
		require.Equal(t, c.verdict, s.verdict("metal"), c.name)
	}
	s := series{points: []point{{1000, us, 0}}, noGPU: "lost"}
	require.Equal(t, "no times of metal: lost", s.verdict("metal"))
}

func TestPlotMarksTheCrossover(t *testing.T) {
	q := request{
		driver: "metal", model: "Apple M4", typ: arrow.PrimitiveTypes.Int64, rowsMax: 10_000_000,
		out: filepath.Join(t.TempDir(), "plot.svg"),
	}
	var all []series
	for i, name := range crossoverNames() {
		s := series{work: findWorkload(name)}
		for _, n := range sizes(q.rowsMax) {
			s.points = append(s.points, point{n, time.Duration(n), time.Duration(50_000*(1+i*i*5) + n/8)})
		}
		all = append(all, s)
	}
	require.NoError(t, q.draw(all))
	text := readSVG(t, q.out)
	for _, want := range []string{"crossover", "Apple M4", "57,000 rows", "CPU and metal"} {
		require.Contains(t, text, want)
	}

	q.driver = emulatorName
	require.NoError(t, q.draw(all[:1]))
	require.Contains(t, readSVG(t, q.out), emulatorWarning)
	var out bytes.Buffer
	require.NoError(t, q.tabulate(&out, all[:1]))
	require.Contains(t, out.String(), emulatorWarning)
}

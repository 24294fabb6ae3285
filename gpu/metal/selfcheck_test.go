//go:build linux && (amd64 || arm64)

package metal_test

import (
	"context"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu/metal"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
	"github.com/broadhead-go/broadhead/msl"
)

// selfCheck runs a quick self-check of the emulator.
func selfCheck(t *testing.T, keys ...msl.Key) []metal.Finding {
	t.Helper()
	lib, err := emulator.Lib()
	require.NoError(t, err)
	var all []metal.Finding
	o := metal.CheckOptions{Driver: "emulator", Keys: keys, Quick: true}
	err = metal.SelfCheck(context.Background(), metal.Libs{ObjC: lib, Metal: lib}, o, func(f metal.Finding) { all = append(all, f) })
	require.NoError(t, err)
	return all
}

func TestSelfCheckPasses(t *testing.T) {
	before := live()
	all := selfCheck(t, msl.Key{Skeleton: msl.Fill}, msl.Key{Skeleton: msl.CompactScan})
	parts := map[string]int{}
	for _, f := range all {
		require.True(t, f.OK, "%+v", f)
		parts[f.Part]++
	}
	require.Equal(t, map[string]int{"selectors": 1, "limits": 5, "commands": 6, "kernels": 1, "times": 5}, parts)
	require.Eventually(t, func() bool { return maps.Equal(before, live()) }, 10*time.Second, time.Millisecond,
		"objects leak: %v, then %v", before, live())
}

// TestSelfCheckSeesFaults makes the device fail where the check must see it.
func TestSelfCheckSeesFaults(t *testing.T) {
	failed := func(all []metal.Finding) string {
		var b strings.Builder
		for _, f := range all {
			if !f.OK {
				b.WriteString(f.Part + ": " + f.Name + ": " + f.Detail + "\n")
			}
		}
		return b.String()
	}
	t.Run("a kernel that does not compile", func(t *testing.T) {
		all := selfCheck(t, msl.Key{Skeleton: msl.Map, Op: "no such op"}, msl.Key{Skeleton: msl.Fill})
		require.Contains(t, failed(all), "1 of 2 kernels fail")
	})
	t.Run("a command that fails", func(t *testing.T) {
		emulator.SetOption("fail_command", 1)
		require.Contains(t, failed(selfCheck(t)), "commands: dispatch over folded rows")
	})
	t.Run("a lost device", func(t *testing.T) {
		emulator.SetOption("lost", 1)
		defer emulator.SetOption("lost", 0)
		require.Contains(t, failed(selfCheck(t)), "device lost")
	})
}

func TestSelfCheckEndsWithItsContext(t *testing.T) {
	lib, err := emulator.Lib()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	err = metal.SelfCheck(ctx, metal.Libs{ObjC: lib, Metal: lib}, metal.CheckOptions{}, func(metal.Finding) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
}

func TestVerdict(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	good := []metal.Finding{{Part: "limits", Name: "page", OK: true}}
	bad := append(good, metal.Finding{Part: "commands", Name: "dispatch", Detail: "device lost"})

	_, found := metal.LoadVerdict("M9", "metal", "v1")
	require.False(t, found)
	require.False(t, metal.NewVerdict("M9", "metal", "v1", nil).OK, "nothing found is not good")

	v := metal.NewVerdict("M9", "metal", "v1", good)
	require.True(t, v.OK)
	path, err := v.Store()
	require.NoError(t, err)
	got, found := metal.LoadVerdict("M9", "metal", "v1")
	require.True(t, found)
	require.Equal(t, v, got)
	for _, other := range [][3]string{{"M8", "metal", "v1"}, {"M9", "emulator", "v1"}, {"M9", "metal", "v2"}} {
		_, found := metal.LoadVerdict(other[0], other[1], other[2])
		require.False(t, found, "%v", other)
	}

	v = metal.NewVerdict("M9", "metal", "v1", bad)
	require.Equal(t, []string{"commands: dispatch: device lost"}, v.Failed)
	_, err = v.Store()
	require.NoError(t, err)
	got, found = metal.LoadVerdict("M9", "metal", "v1")
	require.True(t, found)
	require.False(t, got.OK)

	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	_, found = metal.LoadVerdict("M9", "metal", "v1")
	require.False(t, found)
}

func TestPlainEncoding(t *testing.T) {
	for real, table := range map[string]string{
		"v64@0:8{?=QQQ}16{?=QQQ}40":        "v@:{MTLSize=QQQ}{MTLSize=QQQ}",
		"v56@0:8r^@16r^Q24{_NSRange=QQ}32": "v@:^@^Q{_NSRange=QQ}",
		"c24@0:8q16":                       "B@:q",
		"r*16@0:8":                         "*@:",
		"@40@0:8@16@24o^@32":               "@@:@@^@",
		"Vv16@0:8":                         "v@:",
	} {
		require.Equal(t, metal.PlainEncoding(table), metal.PlainEncoding(real))
	}
	require.NotEqual(t, metal.PlainEncoding("v@:Q"), metal.PlainEncoding("v@:q"))
	require.NotEqual(t, metal.PlainEncoding("v@:{MTLSize=QQQ}"), metal.PlainEncoding("v@:{MTLSize=QQ}"))
}

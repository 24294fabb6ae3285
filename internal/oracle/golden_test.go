package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const goldens = "../../msl/testdata"

// batch is how many golden texts one run of the compiler checks.
const batch = 60

// TestGoldenTexts checks every kernel. Only texts for devices that have more than Metal may use double and atomic_ulong.
func TestGoldenTexts(t *testing.T) {
	compiler := clang(t)
	files, err := filepath.Glob(filepath.Join(goldens, "*.metal"))
	require.NoError(t, err)
	require.Greater(t, len(files), 300)
	kinds := map[bool][]string{}
	for _, path := range files {
		wide := strings.HasSuffix(path, "_native.metal") || strings.HasSuffix(path, "_lookback.metal")
		kinds[wide] = append(kinds[wide], path)
	}
	for wide, list := range kinds {
		for i := 0; i < len(list); i += batch {
			part := list[i:min(i+batch, len(list))]
			t.Run(fmt.Sprintf("wide=%v/%d", wide, i/batch), func(t *testing.T) {
				t.Parallel()
				if said := complaints(t, compiler, join(t, part), wide); said != "" {
					t.Errorf("%.8000s", said)
				}
			})
		}
	}
}

// join makes one program of several texts, each in a namespace, with lines that name their files.
func join(t *testing.T, files []string) string {
	var b strings.Builder
	b.WriteString("#include <metal_stdlib>\n")
	for _, path := range files {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		name := filepath.Base(path)
		body := strings.TrimPrefix(string(text), "#include <metal_stdlib>\n")
		require.NotEqual(t, string(text), body, "%s does not begin as it should", name)
		fmt.Fprintf(&b, "namespace file_%s {\n#line 2 %q\n%s}\n", strings.TrimSuffix(name, ".metal"), name, body)
		for line := range strings.Lines(body) {
			if macro, ok := strings.CutPrefix(line, "#define "); ok {
				b.WriteString("#undef " + strings.Fields(macro)[0] + "\n")
			}
		}
	}
	return b.String()
}

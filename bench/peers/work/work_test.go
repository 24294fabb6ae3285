package work

import (
	"errors"
	"testing"

	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/bench/peers/race"
	"github.com/broadhead-go/broadhead/memory"
)

// TestCases runs every case with Broadhead and arrow-go, which must agree wherever both can do it.
func TestCases(t *testing.T) {
	mem := memory.New(nil)
	engines := []*GoEngine{Broadhead("pool", mem), Broadhead("go", arrowmem.DefaultAllocator), ArrowGo("")}
	both := 0
	for _, g := range Groups([]int{1000}, func(string, string) bool { return true }) {
		for _, e := range engines {
			require.NoError(t, e.Load(g, ""))
		}
		for _, c := range g.Cases() {
			var answers [][]float64
			for _, e := range engines {
				r, err := e.Start(c)
				if errors.Is(err, race.ErrCannot) && !e.ours {
					continue
				}
				require.NoError(t, err, "%s %s", e.Name(), c.Name)
				_, err = r.Run(2)
				require.NoError(t, err, "%s %s of %s", e.Name(), c.Name, c.TypeName())
				n, err := r.Check()
				require.NoError(t, err)
				r.Close()
				answers = append(answers, n)
			}
			require.Equal(t, answers[0], answers[1], c.Name)
			if len(answers) == 3 {
				both++
				if !(c.Name == "sum" && c.Nulls) {
					require.InDeltaSlice(t, answers[0], answers[2], 1e-3, "%s of %s, nulls %v", c.Name, c.TypeName(), c.Nulls)
				}
			}
			require.Positive(t, c.BytesMoved())
		}
		for _, e := range engines {
			require.NoError(t, e.Unload())
		}
		g.Release()
	}
	require.Greater(t, both, 30)
	require.Zero(t, mem.Stats().Active)
	require.NoError(t, mem.Close())
}

func TestTraffic(t *testing.T) {
	g := &Group{Type: wide[0], Rows: 64, Nulls: true}
	for _, c := range []struct {
		op   string
		want int64
	}{{"sum", 64*8 + 8}, {"add", 3 * (64*8 + 8)}, {"compare", 64*8 + 3*8}} {
		for _, op := range Ops {
			if op.Name == c.op {
				require.Equal(t, c.want, Case{op, g}.BytesMoved(), c.op)
			}
		}
	}
}

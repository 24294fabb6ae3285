package gpu

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/msl"
)

// compiler is a device that does nothing but compile.
type compiler struct {
	Device
	compiled atomic.Int32
	released atomic.Int32
	err      error
}

type compiled struct{ *compiler }

func (c *compiler) Compile(Source) (Pipeline, error) {
	c.compiled.Add(1)
	time.Sleep(time.Millisecond)
	if c.err != nil {
		return nil, c.err
	}
	return compiled{c}, nil
}
func (compiled) MaxThreads() int { return 1 }
func (c compiled) Release()      { c.released.Add(1) }

func nameOnly(k msl.Key) (Source, error) { return Source{Name: k.Op}, nil }

// together calls f from n goroutines at once.
func together(n int, f func()) {
	var all sync.WaitGroup
	start := make(chan struct{})
	for range n {
		all.Go(func() { <-start; f() })
	}
	close(start)
	all.Wait()
}

func TestPipelinesBuildOnce(t *testing.T) {
	dev := new(compiler)
	p := NewPipelines(dev, nameOnly)
	keys := []msl.Key{{Op: "add"}, {Op: "add", In: msl.I64}}
	for i, k := range keys {
		together(64, func() {
			if pipe, err := p.Get(k); err != nil || pipe == nil {
				t.Error(pipe, err)
			}
		})
		require.EqualValues(t, i+1, dev.compiled.Load())
		require.EqualValues(t, i+1, p.Builds())
	}
	hits := p.Hits()
	k := keys[1]
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _ = p.Get(k) }))
	require.EqualValues(t, 101, p.Hits()-hits)
	require.EqualValues(t, 2, p.Builds())
	p.Close()
	p.Close()
	require.EqualValues(t, 2, dev.released.Load())
	_, err := p.Get(k)
	require.ErrorIs(t, err, ErrClosed)
}

func TestPipelinesRememberFailures(t *testing.T) {
	for _, row := range []struct {
		err    error
		builds int64
	}{
		{&CompileError{Kernel: "k", Log: "bad"}, 1},
		{fmt.Errorf("later: %w", ErrOutOfMemory), 3},
	} {
		p := NewPipelines(&compiler{err: row.err}, nameOnly)
		for range 3 {
			_, err := p.Get(msl.Key{Op: "k"})
			require.ErrorIs(t, err, row.err)
		}
		require.Equal(t, row.builds, p.Builds())
	}
	noText := errors.New("no such skeleton")
	p := NewPipelines(new(compiler), func(msl.Key) (Source, error) { return Source{}, noText })
	_, err := p.Get(msl.Key{})
	require.ErrorIs(t, err, noText)
}

func TestPipelinesSurviveAPanic(t *testing.T) {
	p := NewPipelines(new(compiler), func(msl.Key) (Source, error) { panic("bug") })
	require.Panics(t, func() { _, _ = p.Get(msl.Key{}) })
	require.Panics(t, func() { _, _ = p.Get(msl.Key{}) }, "no lock is left behind")
}

func TestAdmission(t *testing.T) {
	var a Admission[msl.Key]
	good, bad := msl.Key{Op: "good"}, msl.Key{Op: "bad"}
	mismatch := errors.New("row 3: got 1, want 2")
	var tests atomic.Int32
	together(64, func() {
		if err := a.Check(good, func() error { tests.Add(1); return nil }); err != nil {
			t.Error(err)
		}
		if err := a.Check(bad, func() error { tests.Add(1); return mismatch }); !errors.Is(err, mismatch) {
			t.Error(err)
		}
	})
	require.EqualValues(t, 2, tests.Load())
	require.Equal(t, []Refusal[msl.Key]{{bad, mismatch}}, a.Refused())
	never := func() error { panic("tested twice") }
	require.Zero(t, testing.AllocsPerRun(100, func() {
		_ = a.Check(good, never)
		_ = a.Check(bad, never)
	}))
	require.ErrorIs(t, a.Check(msl.Key{Op: "oom"}, func() error { return ErrOutOfMemory }), ErrOutOfMemory)
	require.NoError(t, a.Check(msl.Key{Op: "oom"}, func() error { return nil }))
	require.Len(t, a.Refused(), 1)
}

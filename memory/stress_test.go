package memory

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

// fill writes a pattern by which a block that two owners share is noticed.
func fill(b []byte, seed uint64) {
	for i := range b {
		b[i] = byte(seed>>(i%8*8)) ^ byte(i*31)
	}
}

// intact compares n bytes with the pattern.
func intact(b []byte, seed uint64) error {
	for i := range b {
		if want := byte(seed>>(i%8*8)) ^ byte(i*31); b[i] != want {
			return fmt.Errorf("byte %d of %d is %#x, not %#x", i, len(b), b[i], want)
		}
	}
	return nil
}

// column is a block in the hands of a model owner, which remembers what the block must hold.
type column struct {
	b    []byte
	seed uint64
}

// command is a retained block.
type command struct {
	ref  Ref
	b    []byte
	seed uint64
}

// model does random operations on an allocator and checks what it can know about each.
type model struct {
	a        *Allocator
	columns  []column
	commands []command
	stale    []Ref
}

// do performs operation op with the arguments n and pick.
func (m *model) do(op byte, n int, pick uint64) error {
	if len(m.columns) == 0 && op != 1 && op != 5 {
		op = 0
	}
	at := 0
	if len(m.columns) > 0 {
		at = int(pick % uint64(len(m.columns)))
	}
	switch op {
	case 0: // allocate
		b := m.a.Allocate(n)
		for i, x := range b {
			if x != 0 {
				return fmt.Errorf("Allocate(%d): byte %d is %#x", n, i, x)
			}
		}
		return m.add(b, pick)
	case 1: // allocate, uninitialized
		return m.add(m.a.AllocateUninitialized(n), pick)
	case 2: // reallocate
		c := &m.columns[at]
		keep := min(n, len(c.b))
		c.b = m.a.Reallocate(n, c.b)
		if err := intact(c.b[:keep], c.seed); err != nil {
			return fmt.Errorf("Reallocate(%d): %w", n, err)
		}
		for i, x := range c.b[keep:] {
			if x != 0 {
				return fmt.Errorf("Reallocate(%d): new byte %d is %#x", n, keep+i, x)
			}
		}
		fill(c.b, c.seed)
	case 3: // free
		c := m.columns[at]
		if err := intact(c.b, c.seed); err != nil {
			return fmt.Errorf("Free: %w", err)
		}
		ref, found := Lookup(c.b)
		m.a.Free(c.b[:n%(len(c.b)+1)])
		m.columns[at] = m.columns[len(m.columns)-1]
		m.columns = m.columns[:len(m.columns)-1]
		if found {
			m.stale = append(m.stale, ref)
		}
	case 4: // retain
		c := m.columns[at]
		if len(c.b) == 0 {
			return nil
		}
		from := n % len(c.b)
		ref, ok := Lookup(c.b[from:])
		if !ok || !ref.Retain() || ref.Room() < len(c.b)-from {
			return fmt.Errorf("Lookup at %d of %d: %v, room %d", from, len(c.b), ok, ref.Room())
		}
		m.commands = append(m.commands, command{ref, c.b, c.seed})
	case 5: // release
		if len(m.commands) == 0 {
			return nil
		}
		k := int(pick % uint64(len(m.commands)))
		c := m.commands[k]
		// The owner may have made the column shorter or longer in place, but what a command reads is one column.
		if err := intact(c.b[:1], c.seed); err != nil {
			return fmt.Errorf("retained block: %w", err)
		}
		c.ref.Release()
		m.commands = append(m.commands[:k], m.commands[k+1:]...)
	case 6: // a stale handle
		if k := len(m.stale); k > 0 {
			ref := m.stale[k-1]
			m.stale = m.stale[:k-1]
			if ref.Retain() { // only because commands still hold it
				held := false
				for _, c := range m.commands {
					held = held || c.ref.blk == ref.blk
				}
				ref.Release()
				if !held {
					return fmt.Errorf("a stale Ref was retained")
				}
			}
		}
	case 7:
		m.a.Trim()
	}
	return nil
}

func (m *model) add(b []byte, seed uint64) error {
	fill(b, seed)
	m.columns = append(m.columns, column{b, seed})
	return nil
}

// end gives everything back.
func (m *model) end() error {
	for len(m.columns) > 0 {
		if err := m.do(3, len(m.columns), 0); err != nil {
			return err
		}
	}
	for len(m.commands) > 0 {
		if err := m.do(5, 0, 0); err != nil {
			return err
		}
	}
	return nil
}

func TestStress(t *testing.T) {
	for _, dev := range []gpu.Device{nil, &fakeDevice{}} {
		a := New(dev, WithCacheLimit(16<<20))
		var wg sync.WaitGroup
		for g := range 8 {
			wg.Go(func() {
				rng := rand.New(rand.NewPCG(uint64(g), 1))
				m := model{a: a}
				for range 1500 {
					n := 1 + rng.IntN(1<<(4+rng.IntN(13)))
					if rng.IntN(500) == 0 {
						n = 2<<20 + rng.IntN(2<<20)
					}
					op := byte(rng.IntN(7))
					if len(m.columns) > 60 {
						op = 3
					} else if rng.IntN(200) == 0 {
						op = 7
					}
					if err := m.do(op, n, rng.Uint64()); err != nil {
						t.Errorf("goroutine %d: %v", g, err)
						return
					}
				}
				if err := m.end(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		s := a.Stats()
		require.Zero(t, s.Active)
		require.Zero(t, s.Parked)
		require.Zero(t, s.BadFrees)
		require.NoError(t, a.Close())
	}
}

// One goroutine frees what another retains: exactly one of them returns the block to the pool.
func TestFreeAndReleaseRace(t *testing.T) {
	a := New(nil)
	for range 2000 {
		b := a.Allocate(200)
		fill(b, 7)
		ref, _ := Lookup(b)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if ref.Retain() {
					if err := intact(b, 7); err != nil {
						t.Error(err)
					}
					ref.Release()
				}
			})
		}
		wg.Go(func() { a.Free(b) })
		wg.Wait()
		if ref.Retain() {
			t.Fatal("the block is free")
		}
	}
	require.Zero(t, a.Stats().Parked)
	require.NoError(t, a.Close())
}

func FuzzOperations(f *testing.F) {
	f.Add([]byte{0, 100, 0, 2, 200, 0, 4, 7, 0, 3, 0, 0, 5, 0, 0, 6, 0, 0})
	f.Add([]byte{1, 0, 255, 2, 16, 1, 7, 0, 0, 4, 0, 0, 2, 0, 0, 3, 0, 0})
	f.Fuzz(func(t *testing.T, ops []byte) {
		dev := &fakeDevice{}
		a := New(dev, WithCacheLimit(4<<20))
		m := model{a: a}
		for ; len(ops) >= 3 && len(m.columns) < 1000; ops = ops[3:] {
			n := int(binary.LittleEndian.Uint16(ops[1:]))
			if n%64 == 63 {
				n *= 50 // some are large
			}
			if err := m.do(ops[0]%8, n, uint64(ops[1])); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.end(); err != nil {
			t.Fatal(err)
		}
		if s := a.Stats(); s.Active != 0 || s.Parked != 0 || s.BadFrees != 0 {
			t.Fatalf("%+v", s)
		}
		if err := a.Close(); err != nil || dev.live != 0 {
			t.Fatal(err, dev.live)
		}
	})
}

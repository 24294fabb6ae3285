//go:build assert

package memory

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPoison(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		for _, n := range []int{1, 1000, 3 << 20} {
			b := a.AllocateUninitialized(n)
			b = wholeOf(b)
			want := bytes.Repeat([]byte{poisonByte}, len(b))
			require.True(t, bytes.Equal(want, b), "uninitialized")
			clear(b)
			ref, _ := Lookup(b)
			require.True(t, ref.Retain())
			a.Free(b)
			require.Zero(t, b[0], "parked blocks keep their bytes")
			ref.Release()
			require.True(t, bytes.Equal(want, b), "freed")

			buf, err := a.NewBuffer(n)
			require.NoError(t, err)
			require.True(t, bytes.Equal(want[:n], buf.Bytes()), "NewBuffer")
			buf.Release()
			z := a.Allocate(n)
			require.Equal(t, make([]byte, n), z)
			a.Free(z)
		}
	})
}

func TestWriteAfterFreePanics(t *testing.T) {
	a := New(nil)
	b := a.Allocate(1000)
	a.Free(b)
	b[17] = 1
	require.ErrorContains(t, failure(func() { a.Allocate(1000) }), "was written after it was freed: byte 17 is 0x1")
}

//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWaysAgree has every way to compute a request give the same bits, which are those of a plain loop.
func TestWaysAgree(t *testing.T) {
	m := newMatrices(make([]byte, matrixBytes))
	m.calibrate(time.Millisecond)
	for row := range m.rows {
		require.NoError(t, m.check(row, (row*97)%matrixWidth))
	}
	for name, way := range map[string]func(){"held": m.multiplyHeld, "released": m.multiplyReleased, "sliced": m.multiplySliced} {
		m.spoil()
		require.False(t, m.right(), name)
		way()
		require.True(t, m.right(), name)
	}
}

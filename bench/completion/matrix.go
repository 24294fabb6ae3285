//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"bytes"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/broadhead-go/broadhead/gpu"
)

// matrixC is the native function: nothing but machine code of the C calling convention. It multiplies rows of matrix a
// with matrix b, both of float32 and 512 wide.
//
//lint:ignore U1000 assembly jumps to it, and native callers get its address
func matrixC()

// matrixHeld calls it from Go, as assembly is called: the processor is held to the end. No stack check, no way to stop.
//
//go:noescape
func matrixHeld(a, b, c unsafe.Pointer, rows int)

// matrixAddress is where native callers find it.
func matrixAddress() uintptr

const (
	matrixWidth = 512
	rowBytes    = 4 * matrixWidth
)

// matrices are the operands of one load and its result. The memory may be shared with another process.
type matrices struct {
	a, b, c []byte
	want    []byte // what c must be
	rows    int    // of a that one request multiplies
}

// matrixBytes is the memory that matrices of one load need.
const matrixBytes = 3 * matrixWidth * rowBytes

// newMatrices lays operands out in memory of matrixBytes and fills them.
func newMatrices(memory []byte) *matrices {
	const size = matrixWidth * rowBytes
	m := &matrices{a: memory[:size], b: memory[size : 2*size], c: memory[2*size : 3*size], rows: matrixWidth}
	for i, side := range [][]byte{m.a, m.b} {
		values := unsafe.Slice((*float32)(unsafe.Pointer(&side[0])), matrixWidth*matrixWidth)
		for j := range values {
			values[j] = float32((j*7+i*3)%61-30) / 8
		}
	}
	return m
}

// multiplyHeld does a request in one call of assembly.
func (m *matrices) multiplyHeld() {
	matrixHeld(unsafe.Pointer(&m.a[0]), unsafe.Pointer(&m.b[0]), unsafe.Pointer(&m.c[0]), m.rows)
}

// multiplyReleased does it in one native call, for which the runtime gives the processor to others.
func (m *matrices) multiplyReleased() {
	purego.SyscallN(matrixAddress(), uintptr(unsafe.Pointer(&m.a[0])), uintptr(unsafe.Pointer(&m.b[0])),
		uintptr(unsafe.Pointer(&m.c[0])), uintptr(m.rows))
}

// multiplySliced does it as the engine's kernels do: a row, some 30 microseconds, at a time.
func (m *matrices) multiplySliced() {
	slices := gpu.BeginSlices()
	defer slices.End()
	for r := range m.rows {
		multiplyRow(m, r)
		slices.Next()
	}
}

// multiplyRow is one slice; it is not inlined, so that its prologue checks the stack and the goroutine can be stopped.
//
//go:noinline
func multiplyRow(m *matrices, r int) {
	matrixHeld(unsafe.Pointer(&m.a[r*rowBytes]), unsafe.Pointer(&m.b[0]), unsafe.Pointer(&m.c[r*rowBytes]), 1)
}

// spoil makes an answer that is not computed be seen.
func (m *matrices) spoil() {
	m.c[0]++
	m.c[m.rows*rowBytes-1]++
}

// right says whether the answer is the one computed at the start, bit for bit.
func (m *matrices) right() bool { return bytes.Equal(m.c[:m.rows*rowBytes], m.want) }

// calibrate chooses the rows of a request so that it takes about the given time, keeps the right answer, and returns the
// time that requests took (the median of 15).
func (m *matrices) calibrate(target time.Duration) time.Duration {
	took := func() time.Duration {
		all := make([]time.Duration, 15)
		for i := range all {
			began := time.Now()
			m.multiplyHeld()
			all[i] = time.Since(began)
		}
		slices.Sort(all)
		return all[len(all)/2]
	}
	m.rows = 64
	each := took() / 64
	m.rows = min(max(int(target/max(each, 1)), 1), matrixWidth)
	length := took()
	m.keep()
	return length
}

// keep takes the present answer for the right one.
func (m *matrices) keep() { m.want = slices.Clone(m.c[:m.rows*rowBytes]) }

// check computes one element the plain way.
func (m *matrices) check(row, column int) error {
	a := unsafe.Slice((*float32)(unsafe.Pointer(&m.a[0])), matrixWidth*matrixWidth)
	b := unsafe.Slice((*float32)(unsafe.Pointer(&m.b[0])), matrixWidth*matrixWidth)
	c := unsafe.Slice((*float32)(unsafe.Pointer(&m.c[0])), matrixWidth*matrixWidth)
	sum := 0.0
	for k := range matrixWidth {
		sum += float64(a[row*matrixWidth+k]) * float64(b[k*matrixWidth+column])
	}
	got := float64(c[row*matrixWidth+column])
	if d := got - sum; d > 0.5 || d < -0.5 { // 512 products below 15 each: rounding stays far below
		return fmt.Errorf("element (%d, %d) is %g instead of %g", row, column, got, sum)
	}
	return nil
}

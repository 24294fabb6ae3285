//go:build (amd64 || arm64) && !noasm

package cpu

import "unsafe"

//go:generate go run ./asmgen

// maxRows bounds a call of assembly. It cannot be interrupted, and so many rows
// of the widest kernel take less than 50 microseconds even from main memory.
const maxRows = 1 << 14

// checkRows is at the start of every function that calls assembly.
func checkRows(n int) {
	if uint(n)-64 > maxRows-64 || n&63 != 0 {
		panic("cpu: rows of an assembly call out of bounds")
	}
}

func pointer[T any](s []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(s)) }

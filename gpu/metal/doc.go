// Package metal is the driver of Apple GPUs. It calls Metal through objc_msgSend without cgo, so it cross-compiles. The
// same code runs on Linux against the emulated Metal of package emulator.
//
// It needs unified memory, the family Apple7 (M1) and 32 threads a SIMD-group. On macOS importing the package registers
// the driver "metal".
//
// A commit of one dispatch whose buffers stand together sends 9 messages to Metal, at most 12 with the wait for it, and
// allocates two objects in Go: the recording's handle and its event.
//
// Buffers are untracked: Metal orders nothing by itself, and the recording says what depends on what. A recording
// becomes one command buffer with a shared event of its own, so that the event tells of this work only.
package metal

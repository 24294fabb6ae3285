// Package darwinkit joins Broadhead and an application that uses Metal through DarwinKit (github.com/progrium/darwinkit,
// the module that github.com/progrium/macdriver became). Both then use one MTLDevice, one command queue and the same
// buffers: Adopt makes a Broadhead device of the application's, Buffer hands the memory of an Arrow column to the
// application as a Metal buffer, Bytes and Import take one of the application's.
//
// It is for macOS with cgo, which DarwinKit needs. Broadhead itself needs neither.
//
// Nothing is copied, and nothing is ordered by itself: a call of package compute has ended on the GPU when it returns, so
// what the application commits then sees its results; before a call the application waits for its own commands that
// write the call's inputs.
package darwinkit

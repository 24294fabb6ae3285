// Package coreml calls Core ML as a second device for the completion harness, through DarwinKit; it needs macOS with cgo.
// It was type-checked on Linux and has not run on a Mac yet.
package coreml

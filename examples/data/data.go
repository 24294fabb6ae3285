// Package data holds the columns that the examples compute with. README.md names their source.
package data

import _ "embed"

// Flights is an Arrow IPC file of 200,000 flights: delay and distance (int16), time (float32).
//
//go:embed flights-200k.arrow
var Flights []byte

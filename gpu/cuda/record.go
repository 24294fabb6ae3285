//go:build linux && (amd64 || arm64)

package cuda

import "github.com/broadhead-go/broadhead/gpu/internal/record"

type (
	recording = record.Recording[*pipeline, *buffer]
	step      = record.Step[*pipeline, *buffer]
	binding   = record.Binding[*buffer]
)

// commands is a gpu.Commands: package record's, and Commit.
type commands struct {
	record.Commands[*device, *pipeline, *buffer]
	own *event // of Run
}

var recordings = record.Driver[*device, *pipeline, *buffer]{Name: "cuda", MaxGroups: record.RowSize * 65535} // a grid has at most 65,535 rows

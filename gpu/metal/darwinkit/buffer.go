//go:build darwin && cgo

package darwinkit

import (
	"errors"
	"fmt"
	"unsafe"

	kit "github.com/progrium/darwinkit/macos/metal"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/metal"
)

// Buffer returns the Metal buffer of a Broadhead buffer. For a column in a memory.Allocator's memory, memory.Lookup of its
// bytes says which buffer that is (Ref.Buffer) and where in it the bytes begin (Ref.Offset).
//
// The result is borrowed: it is valid while the column is, and retaining the object keeps the buffer but not the column's
// bytes, which the allocator then gives to others.
func Buffer(b gpu.Buffer) (kit.BufferObject, error) {
	object, err := metal.Object(b)
	if err != nil {
		return kit.BufferObject{}, err
	}
	return kit.BufferObject{Object: fromAddress(object)}, nil
}

// Bytes returns the memory of an application's buffer, without a copy: arrow-go's memory.NewBufferBytes makes an Arrow
// buffer of it. The bytes stay valid while the application keeps the Metal buffer. A buffer that the CPU cannot see is
// gpu.ErrUnsupported.
func Bytes(b kit.BufferObject) ([]byte, error) {
	if b.IsNil() {
		return nil, errors.New("darwinkit: no buffer")
	}
	if mode := storage(b); mode != kit.StorageModeShared {
		return nil, fmt.Errorf("%w: darwinkit: the buffer has storage mode %d, not shared", gpu.ErrUnsupported, mode)
	}
	return unsafe.Slice((*byte)(b.Contents()), b.Length()), nil
}

// Import makes a Broadhead buffer of an application's, to be named in gpu.Commands. It must be of the device that was
// adopted, in shared or private storage; a private one has no Host.
func Import(dev gpu.Device, b kit.BufferObject) (gpu.Buffer, error) {
	if b.IsNil() {
		return nil, errors.New("darwinkit: no buffer")
	}
	var host []byte
	if storage(b) != kit.StorageModePrivate {
		var err error
		if host, err = Bytes(b); err != nil {
			return nil, err
		}
	}
	return metal.Import(dev, address(b), host, int(b.Length()))
}

func storage(b kit.BufferObject) kit.StorageMode {
	return kit.ResourceObject{Object: b.Object}.StorageMode()
}

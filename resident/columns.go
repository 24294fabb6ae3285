package resident

import (
	"fmt"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// The worker's element types, as worker.metal numbers them; 0 is none.
var elementTypes = map[msl.Type]uint64{msl.I32: 1, msl.U32: 2, msl.F32: 3, msl.I64: 4, msl.U64: 5, msl.F64: 6}

const (
	columnCount = 256
	noColumn    = 255
)

// columnKey is what a handle stands for: addresses, no content, so a handle never goes stale.
type columnKey struct {
	values, valid uint64
	validOff      uint64 // bits before the first row's, less than a byte
	typ           uint64
}

// columns are the handles that a lane's kernel knows.
type columns struct {
	handle map[columnKey]uint8
	keys   [columnCount]columnKey
	uses   [columnCount]uint64 // the batch that used it last
	batch  uint64
	hand   int // where the search for a handle to use again goes on
}

// forget is for a kernel that knows none.
func (c *columns) forget() {
	clear(c.handle)
	clear(c.keys[:])
	clear(c.uses[:])
}

// find is the handle of a column; fresh says that the kernel has to be told of it. There are more handles than one batch
// can use.
func (c *columns) find(k columnKey) (handle uint8, fresh bool) {
	if h, ok := c.handle[k]; ok {
		c.uses[h] = c.batch
		return h, false
	}
	for c.uses[c.hand] == c.batch {
		c.hand = (c.hand + 1) % noColumn
	}
	h := uint8(c.hand)
	c.hand = (c.hand + 1) % noColumn
	if c.handle[c.keys[h]] == h {
		delete(c.handle, c.keys[h])
	}
	c.handle[k], c.keys[h], c.uses[h] = h, k, c.batch
	return h, true
}

// key is a view as the kernel addresses it.
func (w *Worker) key(v *gpu.View, typ uint64) (columnKey, error) {
	values, err := w.address(v.Buf)
	if err != nil {
		return columnKey{}, err
	}
	valid, err := w.address(v.Valid)
	if err != nil {
		return columnKey{}, err
	}
	k := columnKey{values: values + uint64(v.Off), typ: typ}
	if v.Valid != nil {
		k.valid, k.validOff = valid+uint64(v.ValidOff/8), uint64(v.ValidOff%8)
	}
	return k, nil
}

// address is where the kernel finds a buffer, 0 for none.
func (w *Worker) address(b gpu.Buffer) (uint64, error) {
	if b == nil {
		return 0, nil
	}
	at, ok := w.dev.Address(b)
	if !ok {
		return 0, fmt.Errorf("resident: %w: the buffer (%T) is of another device or was released", gpu.ErrUnsupported, b)
	}
	return at, nil
}

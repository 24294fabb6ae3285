package msl_test

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// device opens what kernels run on: Metal on a Mac, elsewhere the emulator, which checks them while they run (a race, an
// access out of bounds or a barrier in divergent flow fails the launch).
func device(t *testing.T) gpu.Device {
	t.Helper()
	if testing.Short() {
		t.Skip("runs kernels on a GPU or the emulator, which -short leaves out")
	}
	name := map[string]string{"darwin": "metal", "linux": "emulator"}[runtime.GOOS]
	if name == "" {
		t.Skip("there is no Metal and no emulator on " + runtime.GOOS)
	}
	d, err := gpu.Open(name)
	if err != nil {
		t.Fatalf("kernels are tested on the device %s (use -short to leave this out): %v", name, err)
	}
	return d
}

var pipelines sync.Map // of msl.Key

func pipeline(t *testing.T, d gpu.Device, k msl.Key) gpu.Pipeline {
	t.Helper()
	if p, ok := pipelines.Load(k); ok {
		return p.(gpu.Pipeline)
	}
	name, text, err := msl.Text(k)
	if err != nil {
		t.Fatal(err)
	}
	p, err := d.Compile(gpu.Source{Name: name, Text: text})
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, text)
	}
	pipelines.Store(k, p)
	return p
}

// args collects the arguments of a launch by buffer index, and gives their memory back when the test ends.
type args struct {
	t    *testing.T
	d    gpu.Device
	list []gpu.Arg
	outs map[int]gpu.Buffer
}

func newArgs(t *testing.T, d gpu.Device, bindings int) *args {
	return &args{t, d, make([]gpu.Arg, bindings), map[int]gpu.Buffer{}}
}

// in binds a copy of data at index.
func (a *args) in(index int, data []byte) {
	a.t.Helper()
	host := a.buffer(index, max(len(data), 4)).Host()
	clear(host)
	copy(host, data)
}

// params binds a struct of parameters.
func (a *args) params(index int, p any) {
	b, err := binary.Append(nil, binary.LittleEndian, p)
	if err != nil {
		a.t.Fatal(err)
	}
	a.list[index] = gpu.Arg{Bytes: b}
}

// slack follows every output, which kernels must not touch.
const slack = 64

// out binds n bytes at index, poisoned.
func (a *args) out(index, n int) {
	a.t.Helper()
	b := a.buffer(index, n+slack)
	for i := range b.Host() {
		b.Host()[i] = 0xaa
	}
	a.outs[index] = b
}

// bytes returns what lies at an output's index and checks that nothing was written behind it.
func (a *args) bytes(index int) []byte {
	a.t.Helper()
	h := a.outs[index].Host()
	n := len(h) - slack
	for _, b := range h[n:] {
		if b != 0xaa {
			a.t.Fatalf("output %d: written beyond its %d bytes", index, n)
		}
	}
	return h[:n]
}

func (a *args) words(index int) []uint32 {
	a.t.Helper()
	b := a.bytes(index)
	list := make([]uint32, len(b)/4)
	for i := range list {
		list[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return list
}

func (a *args) buffer(index, n int) gpu.Buffer {
	a.t.Helper()
	b, err := a.d.Alloc(n, gpu.Shared)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(b.Release)
	a.list[index] = gpu.Arg{Buf: b}
	return b
}

// launch runs one kernel to its end.
func launch(t *testing.T, d gpu.Device, k msl.Key, groups uint64, a *args) {
	t.Helper()
	launchOn(t, d, pipeline(t, d, k), groups, a)
}

func launchOn(t *testing.T, d gpu.Device, p gpu.Pipeline, groups uint64, a *args) {
	t.Helper()
	c := d.Commands()
	c.Dispatch(p, int(groups), msl.Threads, a.list)
	e, err := c.Commit()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := e.Wait(ctx); err != nil {
		t.Fatal(err)
	}
}

// column is a slice of a test column: row i is at element off+i, its bits in the low bytes of a uint64.
type column struct {
	typ        msl.Type
	values     []uint64
	valid      []bool // nil: no nulls
	off, voff  int
	data, bits []byte
}

// newColumn packs values at an element offset, and validity at a bit offset, behind elements of junk.
func newColumn(typ msl.Type, values []uint64, valid []bool, off, voff int) *column {
	c := &column{typ: typ, values: values, valid: valid, off: off, voff: voff}
	if typ == msl.Bool {
		c.data = packBits(len(values), off, func(i int) bool { return values[i] != 0 })
	} else {
		w := width(typ)
		c.data = make([]byte, (off+len(values))*w)
		for i := range c.data {
			c.data[i] = 0x5a
		}
		for i, v := range values {
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], v)
			copy(c.data[(off+i)*w:], b[:w])
		}
	}
	if valid != nil {
		c.bits = packBits(len(values), voff, func(i int) bool { return valid[i] })
	}
	return c
}

func (c *column) isValid(i int) bool { return c.valid == nil || c.valid[i] }

// packBits makes a bitmap of whole words with n bits from bit off on, all other bits set.
func packBits(n, off int, bit func(i int) bool) []byte {
	b := make([]byte, (off+n+31)/32*4)
	for i := range b {
		b[i] = 0xff
	}
	for i := range n {
		if !bit(i) {
			b[(off+i)/8] &^= 1 << ((off + i) % 8)
		}
	}
	return b
}

func width(t msl.Type) int {
	switch t {
	case msl.I8, msl.U8:
		return 1
	case msl.I16, msl.U16:
		return 2
	case msl.I32, msl.U32, msl.F32:
		return 4
	default:
		return 8
	}
}

// unpack reads n values of an output; bits beyond them up to the word must be zeros.
func unpack(t *testing.T, typ msl.Type, b []byte, n int) []uint64 {
	t.Helper()
	list := make([]uint64, n)
	if typ == msl.Bool {
		for i := range len(b) * 8 {
			bit := b[i/8] >> (i % 8) & 1
			if i < n {
				list[i] = uint64(bit)
			} else if bit != 0 {
				t.Fatalf("padding bit %d is set after %d rows", i, n)
			}
		}
		return list
	}
	w := width(typ)
	for i := range list {
		var v [8]byte
		copy(v[:], b[i*w:(i+1)*w])
		list[i] = binary.LittleEndian.Uint64(v[:])
	}
	return list
}

// outBytes is the size of an output of n rows.
func outBytes(typ msl.Type, n int) int {
	if typ == msl.Bool {
		return (n + 31) / 32 * 4
	}
	return n * width(typ)
}

// randomBools has a share of true ones.
func randomBools(r *rand.Rand, n int, share float64) []bool {
	list := make([]bool, n)
	for i := range list {
		list[i] = r.Float64() < share
	}
	return list
}

var (
	lengths = []int{1, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 4097}
	offsets = []int{0, 1, 7, 31, 32, 33}
)

package compute

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
	"github.com/broadhead-go/broadhead/compute/internal/output"
	"github.com/broadhead-go/broadhead/msl"
)

const (
	// aloneBytes is the size of inputs and result up to which waking a second goroutine costs more than it saves.
	aloneBytes = 1 << 20
	// mapMorsel is some 30 microseconds of work, so that workers end together.
	mapMorsel = 16 * 1024
)

// runMap computes one run of an element-wise op on the CPU.
func (o *op) runMap(ctx context.Context, p *plan, r *run) (*ac.ArrayDatum, error) {
	m := mapper{op: o, plan: p, run: r, args: o.inputs(p), kernel: o.cpu[p.in], result: p.result()}
	for i := range m.args {
		m.types[i] = o.typeOf(p, i)
	}
	if err := m.allocate(GetAllocator(ctx)); err != nil {
		return nil, err
	}
	m.long = m.takesLong()
	if m.alone() {
		m.rows(0, r.n)
	} else if m.parallel(ctx, workersOf(ctx)); ctx.Err() != nil {
		m.product.Release()
		return nil, ctx.Err()
	}
	if m.status != 0 {
		m.product.Release()
		if m.status&misfit != 0 {
			return nil, errMisfit
		}
		if o.fail != nil {
			return nil, o.fail(p, o, r)
		}
		return nil, statusError(m.status)
	}
	nulls := 0
	if m.outValid != nil {
		nulls = array.UnknownNullCount
	}
	return m.product.Finish(p.out, r.n, nulls), nil
}

// alone says that one goroutine does best.
func (m *mapper) alone() bool {
	bytes := bytesFor(m.result, m.run.n)
	for i := range m.args {
		if m.run.cols[i].stride != 0 {
			bytes += bytesFor(m.types[i], m.run.n)
		}
	}
	return bytes <= aloneBytes || m.run.n <= mapMorsel
}

// parallel computes the run with several goroutines, each with a mapper of its own.
func (m *mapper) parallel(ctx context.Context, workers int) {
	var status atomic.Uint32
	shared := *m
	cpu.Parallel(m.run.n, mapMorsel, workers, func(_, start, end int) {
		if ctx.Err() == nil {
			mine := shared
			mine.rows(start, end)
			status.Or(uint32(mine.status))
		}
	})
	m.status = cpu.Status(status.Load())
}

// faults are the errors of checked ops with arrow-go's words, and their bits on the CPU and on devices. Of several the
// first is reported.
var faults = []struct {
	cpu  cpu.Status
	gpu  uint32
	what string
}{
	{cpu.DivideByZero, msl.ErrDivideByZero, "divide by zero"},
	{cpu.NegativeRoot, msl.ErrNegativeRoot, "square root of negative number"},
	{cpu.ShiftAmount, msl.ErrShift, "shift amount must be >= 0 and less than precision of type"},
	{cpu.NegativePower, 0, "integers to negative integer powers are not allowed"},
	{cpu.OutOfDomain, 0, "domain error"},
	{cpu.LogOfZero, 0, "logarithm of zero"},
	{cpu.LogOfNegative, 0, "logarithm of negative number"},
	{cpu.Overflow, msl.ErrOverflow, "overflow"},
}

// statusError is the error of a checked op.
func statusError(st cpu.Status) error {
	for _, f := range faults {
		if st&f.cpu != 0 {
			return fmt.Errorf("%w: %s", arrow.ErrInvalid, f.what)
		}
	}
	panic("compute: a status without a meaning") // the table above has every status
}

// deviceError is the error that a device's error word means.
func deviceError(word uint32) error {
	for _, f := range faults {
		if word&f.gpu != 0 {
			return fmt.Errorf("%w: %s", arrow.ErrInvalid, f.what)
		}
	}
	return fmt.Errorf("%w: index out of bounds", arrow.ErrIndex)
}

// mapper is the state of one run.
type mapper struct {
	op     *op
	plan   *plan
	run    *run
	args   int
	kernel blockKernel
	status cpu.Status

	types         [maxInputs]msl.Type
	result        msl.Type
	product       *output.Array
	out, outValid []byte
	nullsIn       bool // an input may have nulls
	long          bool // see longRows
}

// nullable says whether the result may have nulls, and whether an input may.
func (m *mapper) nullable() (result, input bool) {
	all := true
	for i := range m.args {
		none := m.run.cols[i].valid.All()
		input, all = input || !none, all && !none
	}
	switch m.op.nulls {
	case never:
		return false, input
	case every:
		return all, input
	}
	return input, input
}

func (m *mapper) allocate(mem arrowmem.Allocator) (err error) {
	n := m.run.n
	nulls, in := m.nullable()
	m.nullsIn = in
	if m.product, err = output.New(mem, bytesFor(m.result, n)); err != nil {
		return err
	}
	m.out = m.product.Values()
	if nulls {
		if m.outValid, err = m.product.AddValidity(mem, n); err != nil {
			m.product.Release()
			return err
		}
	}
	return nil
}

// scratch is the memory of one worker: repeated scalars and words of bits.
type scratch struct {
	block
	scalars [maxInputs][blockRows]uint64
	words   [2*maxInputs + 2][blockRows / 64]uint64
}

var scratches = sync.Pool{New: func() any {
	s := new(scratch)
	for i := range s.in {
		s.in[i].words, s.in[i].valid = s.words[2*i][:], s.words[2*i+1][:]
	}
	s.ow, s.ov = s.words[2*maxInputs][:], s.words[2*maxInputs+1][:]
	return s
}}

// rows computes rows [start, end); start is a multiple of 64.
func (m *mapper) rows(start, end int) {
	if m.outValid != nil && m.op.nulls == intersect {
		m.intersection(start, end)
	}
	if m.long {
		start = m.longRows(start, end)
	}
	if start < end {
		m.blocks(start, end)
	}
}

// blocks computes rows [start, end) block by block.
func (m *mapper) blocks(start, end int) {
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	b := &s.block
	b.nulls = m.outValid != nil
	outBits := m.result == msl.Bool
	for i := range m.args {
		c := &m.run.cols[i]
		b.in[i].one = c.stride == 0
		if c.stride == 0 && m.types[i] != msl.Bool {
			b.in[i].values = bytesOfWords(s.scalars[i][:])
			fillScalar(b.in[i].values, c)
		}
	}
	if m.op.nulls != intersect && !m.nullsIn { // every row of every block is valid
		for i := range m.args {
			for k := range b.in[i].valid {
				b.in[i].valid[k] = ^uint64(0)
			}
		}
	}
	for row := start; row < end; row += blockRows {
		b.n = min(blockRows, end-row)
		for i := range m.args {
			m.load(s, i, row)
		}
		if m.status != 0 {
			return
		}
		if !outBits {
			b.out = m.out[row*widths[m.result]:]
		}
		if m.outValid != nil && m.op.nulls == every {
			m.anyValid(b)
		}
		if st := m.kernel(b); st != 0 {
			if st = m.recheck(b, row, st); st != 0 {
				m.status |= st
				return
			}
		}
		if outBits {
			cpu.PutWords(m.out[row/8:], b.ow, b.n)
		}
		if m.outValid != nil && m.op.nulls != intersect {
			cpu.PutWords(m.outValid[row/8:], b.ov, b.n)
		}
	}
}

// anyValid computes where some input of a block is valid.
func (m *mapper) anyValid(b *block) {
	valid := b.ov[:(b.n+63)/64]
	copy(valid, b.in[0].valid)
	for i := 1; i < m.args; i++ {
		for k, w := range b.in[i].valid[:len(valid)] {
			valid[k] |= w
		}
	}
}

// load points the block at b.n rows of input i from row on.
func (m *mapper) load(s *scratch, i, row int) {
	c, in := &m.run.cols[i], &s.in[i]
	switch {
	case m.types[i] == msl.Bool:
		loadWords(in.words, c.bits(), row, s.n, c.stride)
	case c.stride != 0:
		in.values = c.data(row)
		if m.plan.fused[i].op != nil {
			m.convert(s, i, row)
		}
	}
	if m.nullsIn && m.op.nulls != intersect {
		loadWords(in.valid, c.valid, row, s.n, c.stride)
	}
}

// bytesOfWords views words as bytes.
func bytesOfWords(w []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(w))), 8*len(w))
}

// recheck runs a block that reported an error again row by row, since rows under nulls may hold anything.
func (m *mapper) recheck(b *block, row int, st cpu.Status) cpu.Status {
	if !m.nullsIn {
		return st
	}
	if m.op.nulls == intersect {
		// no byte past these rows: another goroutine may write it
		cpu.Bitmap{Data: m.outValid[:(row+b.n+7)/8]}.Words(b.ov, row, b.n)
	}
	one, wo := *b, widths[m.result]
	one.n, st = 1, 0
	for i := range b.n {
		if b.ov[i/64]>>(i%64)&1 == 0 {
			continue
		}
		one.out = b.out[i*wo:]
		for k := range m.args {
			one.in[k].values = b.in[k].values[i*widths[m.types[k]]:]
		}
		st |= m.kernel(&one)
	}
	return st
}

// fillScalar repeats a scalar's value over a whole block.
func fillScalar(dst []byte, c *column) {
	w := widths[c.typ]
	dst = dst[:blockRows*w]
	copy(dst, c.values[c.off*w:(c.off+1)*w])
	for n := w; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// loadWords reads n bits from row on; a scalar's bit is repeated.
func loadWords(dst []uint64, b cpu.Bitmap, row, n, stride int) {
	if stride == 0 {
		var w uint64
		if b.Bit(0) {
			w = ^uint64(0)
		}
		for i := range (n + 63) / 64 {
			dst[i] = w
		}
		return
	}
	b.Words(dst, row, n)
}

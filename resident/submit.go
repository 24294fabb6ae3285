package resident

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// opcodes are worker.metal's.
var opcodes = [...]uint64{
	gpu.WorkerSum: 16, gpu.WorkerMinMax: 17, gpu.WorkerCount: 18,
	gpu.WorkerEqual: 32, gpu.WorkerNotEqual: 33, gpu.WorkerLess: 34, gpu.WorkerLessEqual: 35, gpu.WorkerGreater: 36, gpu.WorkerGreaterEqual: 37,
	gpu.WorkerAdd: 48, gpu.WorkerSubtract: 49, gpu.WorkerMultiply: 50,
	gpu.WorkerAddChecked: 51, gpu.WorkerSubtractChecked: 52, gpu.WorkerMultiplyChecked: 53, gpu.WorkerFilter: 64,
}

const (
	opBindValues = 1
	opBindValid  = 2
	publish      = 128
	quiet        = 1 << 31
)

// lastSeq is from where on a lane starts its numbers anew: no word may have the tag of one of long ago.
const lastSeq = 1<<32 - 1<<12

// errAgain says that the kernel was launched anew and the batch runs again.
var errAgain = errors.New("resident: launched again")

// do runs at most batchTasks tasks.
func (l *lane) do(ctx context.Context, tasks []gpu.Task) (err error) {
	defer func() {
		if err != nil { // nothing may write what the caller gets back, nor be run by the next kernel
			l.stop()
			l.end()
			l.reset()
		}
	}()
	if l.next > lastSeq {
		l.stop()
		l.end()
		l.reset()
	}
	w := wait{ctx: ctx, lane: l}
	if l.kept == nil || l.stopping.Load() {
		err = w.launch()
	}
	for {
		if err == nil {
			err = l.batch(&w, tasks)
		}
		if err != errAgain {
			break
		}
		err = w.launch()
	}
	l.used.Store(now())
	return err
}

// launch starts the kernel once the one before has ended.
func (w *wait) launch() error {
	l := w.lane
	for l.kept != nil {
		ended, err := l.kept.Ended()
		if err != nil {
			return err
		}
		if ended {
			break
		}
		runtime.Gosched()
	}
	*w = wait{ctx: w.ctx, lane: l}
	return l.launch()
}

// batch puts tasks into the ring and waits for them.
func (l *lane) batch(w *wait, tasks []gpu.Task) error {
	l.columns.batch++
	l.first = l.next
	var seqs [batchTasks]uint32
	wrote := false
	for i := range tasks {
		wrote = wrote || tasks[i].Out.Buf != nil || l.plainBits(&tasks[i])
		if err := l.submit(&tasks[i], i == len(tasks)-1, wrote); err != nil {
			return err
		}
		seqs[i] = l.next - 1
	}
	l.ring1()
	for i := range tasks {
		if err := l.collect(w, &tasks[i], seqs[i], i == len(tasks)-1); err != nil {
			return err
		}
	}
	return nil
}

// slot is the place of a descriptor.
func (l *lane) slot(seq uint32) []uint64 { return l.ring[seq%ringSlots*slotWords:][:slotWords] }

// put writes a descriptor that is not rung for yet. Each of its words says whether it is there.
func (l *lane) put(what, rows, literal uint64) {
	seq := l.next
	l.next++
	slot, tag := l.slot(seq), uint64(seq)<<32
	if seq == l.first { // the kernel looks at it now
		l.held = [slotWords]uint64{tag | what, tag | rows, tag | literal&0xffffffff, tag | literal>>32}
		return
	}
	slot[3] = tag | literal>>32
	slot[2] = tag | literal&0xffffffff
	slot[1] = tag | rows
	slot[0] = tag | what
}

// ring1 writes the batch's first descriptor at last: whoever sees it sees the others.
func (l *lane) ring1() {
	slot := l.slot(l.first)
	slot[3], slot[2], slot[1] = l.held[3], l.held[2], l.held[1]
	atomic.StoreUint64(&slot[0], l.held[0])
}

// submit writes the descriptor of a task, and before it those that tell the kernel of columns. The last makes what was
// written until then visible to all.
func (l *lane) submit(t *gpu.Task, last, wrote bool) error {
	typ := elementTypes[t.Type]
	what, rows := opcodes[t.Op], uint64(t.N)
	out := t.Out
	if l.plainBits(t) {
		out = l.bitsView
	}
	switch {
	case last && wrote:
		what |= publish
	case !last && out.Buf != nil && unchecked(t.Op):
		rows |= quiet
	}
	for i, v := range [3]*gpu.View{&t.A, &t.B, &out} {
		h := uint8(noColumn)
		if v.Buf != nil || v.Valid != nil {
			k, err := l.w.key(v, typ)
			if err != nil {
				return err
			}
			var fresh bool
			if h, fresh = l.columns.find(k); fresh {
				l.put(opBindValues|uint64(h)<<8, k.typ, k.values)
				if k.valid != 0 {
					l.put(opBindValid|uint64(h)<<8, k.validOff, k.valid)
				}
			}
		}
		what |= uint64(h) << (8 + 8*i)
	}
	l.put(what, rows, t.Literal)
	return nil
}

// plainBits says whether a comparison's bits come as plain words, with a record that tells when, and not as words that tell
// by themselves, which are twice as long.
func (l *lane) plainBits(t *gpu.Task) bool { return t.Bits != nil && t.N > l.w.opts.tagged }

// unchecked says that nobody needs to hear of the end of an operation others follow.
func unchecked(op gpu.WorkerOp) bool {
	return op >= gpu.WorkerEqual && op <= gpu.WorkerMultiply
}

// follows says whether a task can be in the ring behind another before that has ended. Members do their shares of the rows
// without waiting for each other, so it may only read its own share of what the other wrote.
func (w *Worker) follows(t, before *gpu.Task) bool {
	if before.Bits != nil { // there is one place for bits
		return false
	}
	if t.N <= w.opts.Solo && before.N <= w.opts.Solo {
		return true
	}
	if t.N != before.N || t.Op == gpu.WorkerFilter || before.Op == gpu.WorkerFilter {
		return false
	}
	for _, v := range [2]*gpu.View{&t.A, &t.B} {
		if before.Out.Buf != nil && v.Buf == before.Out.Buf && v.Off != before.Out.Off || v.Valid != nil && v.Valid == before.Out.Buf {
			return false
		}
	}
	return true
}

// collect waits for a task and reads its result.
func (l *lane) collect(w *wait, t *gpu.Task, seq uint32, last bool) error {
	plain := l.plainBits(t)
	if t.Bits != nil && !plain {
		for i := range (t.N + 31) / 32 {
			bits, err := w.word(&l.bits[i], seq)
			if err != nil {
				return err
			}
			t.Bits[i] = bits
		}
		return nil
	}
	if !last && t.Out.Buf != nil && unchecked(t.Op) {
		t.Result = gpu.TaskResult{}
		return nil
	}
	members := 1
	if t.N > l.w.opts.Solo {
		share := ((t.N+l.w.opts.Members-1)/l.w.opts.Members + chunkRows - 1) / chunkRows * chunkRows
		members = (t.N + share - 1) / share
	}
	words := 4
	if t.Op == gpu.WorkerMinMax {
		words = 6
	}
	var sum, low, high uint64
	var rows, marked uint32
	low = ^low
	for m := range members {
		record := l.records[(int(seq%ringSlots)*maxMembers+m)*recordWords:][:recordWords]
		var half [6]uint32
		for i := range words {
			v, err := w.word(&record[i], seq)
			if err != nil {
				return err
			}
			half[i] = v
		}
		a, b := uint64(half[0])|uint64(half[1])<<32, uint64(half[4])|uint64(half[5])<<32
		sum, low, high = sum+a, min(low, a), max(high, b)
		rows, marked = rows+half[2], marked+half[3]
	}
	if plain {
		copy(t.Bits[:(t.N+31)/32], unsafe.Slice((*uint32)(unsafe.Pointer(&l.bits[0])), 2*len(l.bits)))
	}
	r := gpu.TaskResult{Rows: int(rows)}
	switch t.Op {
	case gpu.WorkerSum:
		r.Value = sum
	case gpu.WorkerMinMax:
		r.Value, r.Max, r.NaNs = unordered(low, t.Type), unordered(high, t.Type), int(marked)
	default:
		r.Failed = marked != 0
	}
	t.Result = r
	return nil
}

// unordered is the value of one of the kernel's ordered numbers.
func unordered(k uint64, t msl.Type) uint64 {
	switch t {
	case msl.I32, msl.I64:
		k ^= 1 << 63
		if t == msl.I32 {
			k &= 0xffffffff
		}
	case msl.F32:
		if k>>31 != 0 {
			return k &^ (1 << 31) & 0xffffffff
		}
		return ^k & 0xffffffff
	case msl.F64:
		if k>>63 != 0 {
			return k &^ (1 << 63)
		}
		return ^k
	}
	return k
}

// wait is one caller's waiting.
type wait struct {
	ctx   context.Context
	lane  *lane
	polls int
	since time.Time
}

const (
	pollsPerClock = 64
	// patience is when a waiter begins to suspect that the kernel has ended.
	patience = 100 * time.Microsecond
	// cancelAfter is when a context that has ended ends the waiting: before, the answer is near.
	cancelAfter = time.Millisecond
	// hopeless is when something is wrong with the kernel, which is stopped then.
	hopeless = time.Second
)

// word is the payload of a word of an operation, once the kernel has written it.
func (w *wait) word(p *uint64, seq uint32) (uint32, error) {
	for {
		if v := atomic.LoadUint64(p); uint32(v>>32) == seq {
			return uint32(v), nil
		}
		if w.polls++; w.polls%pollsPerClock == 0 {
			if err := w.look(); err != nil {
				return 0, err
			}
		}
	}
}

// look looks at the clock and, now and then, at the kernel.
func (w *wait) look() error {
	l := w.lane
	if w.since.IsZero() {
		w.since = time.Now()
	}
	waited := time.Since(w.since)
	if waited < patience && !l.stopping.Load() {
		if w.polls%(8*pollsPerClock) == 0 {
			runtime.Gosched()
		}
		return nil
	}
	runtime.Gosched()
	ended, err := l.kept.Ended()
	switch limit := gpu.CommandTimeout(); {
	case err != nil:
		return err
	case ended:
		return errAgain
	case waited > cancelAfter && w.ctx.Err() != nil:
		return w.ctx.Err()
	case limit > 0 && waited > limit:
		return fmt.Errorf("resident: %w: no answer in %v", gpu.ErrTimeout, limit)
	case waited > hopeless:
		l.stop() // and it is launched anew
	}
	return nil
}

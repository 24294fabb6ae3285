package resident

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

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
	opBind  = 1
	publish = 128
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
	l.columns.batch++
	l.first = l.next
	var seqs [batchTasks]uint32
	for i := range tasks {
		if seqs[i], err = l.submit(&tasks[i], i == len(tasks)-1 || tasks[i+1].N != tasks[i].N); err != nil {
			return err
		}
	}
	if l.kept == nil {
		if err := l.launch(); err != nil {
			return err
		}
	}
	w := wait{ctx: ctx, lane: l}
	for i := 0; i < len(tasks); {
		switch err := l.collect(&w, &tasks[i], seqs[i]); {
		case err == errAgain:
			i = 0
		case err != nil:
			return err
		default:
			i++
		}
	}
	l.used.Store(now())
	return nil
}

// again runs the batch under way once more: the kernel has ended before it was through. What it has answered is forgotten,
// since the answers that count are those after which nothing writes any more.
func (l *lane) again() error {
	clear(l.records)
	clear(l.bits)
	if err := l.launch(); err != nil {
		return err
	}
	return errAgain
}

// put writes a descriptor. Each of its words says whether it is there.
func (l *lane) put(what, rows, low, high uint64) uint32 {
	seq := l.next
	l.next++
	slot := l.ring[seq%ringSlots*slotWords:][:slotWords]
	tag := uint64(seq) << 32
	atomic.StoreUint64(&slot[3], tag|high)
	atomic.StoreUint64(&slot[2], tag|low)
	atomic.StoreUint64(&slot[1], tag|rows)
	atomic.StoreUint64(&slot[0], tag|what)
	return seq
}

// submit writes the descriptor of a task, and before it those that tell the kernel of columns.
func (l *lane) submit(t *gpu.Task, fence bool) (uint32, error) {
	typ := elementTypes[t.Type]
	what := opcodes[t.Op]
	if fence && t.Out.Buf != nil {
		what |= publish
	}
	for i, v := range [3]*gpu.View{&t.A, &t.B, &t.Out} {
		h := uint8(noColumn)
		if v.Buf != nil || v.Valid != nil {
			k, err := l.w.key(v, typ)
			if err != nil {
				return 0, err
			}
			var fresh bool
			if h, fresh = l.columns.find(k); fresh {
				l.put(opBind|uint64(h)<<8, 0, 0, 0)
			}
		}
		what |= uint64(h) << (8 + 8*i)
	}
	return l.put(what, uint64(t.N), t.Literal&0xffffffff, t.Literal>>32), nil
}

// collect waits for a task and reads its result.
func (l *lane) collect(w *wait, t *gpu.Task, seq uint32) error {
	if t.Bits != nil {
		for i := range (t.N + 31) / 32 {
			bits, err := w.word(&l.bits[i], seq)
			if err != nil {
				return err
			}
			t.Bits[i] = bits
		}
		return nil
	}
	members, share := 1, t.N
	if t.N > l.w.opts.Solo {
		share = ((t.N+l.w.opts.Members-1)/l.w.opts.Members + chunkRows - 1) / chunkRows * chunkRows
		members = (t.N + share - 1) / share
	}
	var sum, low, high uint64
	var rows, marked uint32
	low = ^low
	for m := range members {
		record := l.records[(int(seq%ringSlots)*maxMembers+m)*recordWords:][:recordWords]
		var half [6]uint32
		for i := range half {
			v, err := w.word(&record[i], seq)
			if err != nil {
				return err
			}
			half[i] = v
		}
		a, b := uint64(half[0])|uint64(half[1])<<32, uint64(half[2])|uint64(half[3])<<32
		sum, low, high = sum+a, min(low, a), max(high, b)
		rows, marked = rows+half[4], marked+half[5]
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
		return l.again()
	case waited > cancelAfter && w.ctx.Err() != nil:
		return w.ctx.Err()
	case limit > 0 && waited > limit:
		return fmt.Errorf("resident: %w: no answer in %v", gpu.ErrTimeout, limit)
	}
	return nil
}

package resident

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
)

// What worker.metal names too.
const (
	ringSlots   = 64
	slotWords   = 4
	recordWords = 8
	chunkRows   = 256
	threads     = 256
	// batchTasks is how many tasks are in the ring at most, each with up to three handles that the kernel is told of by two
	// descriptors, though only one of the three has a validity.
	batchTasks = 12
	relayBytes = 256 * 8 * 8
	// relayStride is how many descriptors one launch relays at most.
	relayStride = 1 << 20
)

// The life of a lane's kernel. A look takes about a microsecond where the ring is across a bus. The host stops it, so the
// limits in looks are for a process that is stopped or gone.
const (
	idleStop    = 2 * time.Millisecond
	lifetime    = 50 * time.Millisecond
	maxLifetime = 10 * time.Second
	idleLooks   = 1 << 16
	mostLooks   = 1 << 20
	janitorEach = time.Millisecond
)

// params is what a launch passes.
type params struct{ First, Relay, Members, Solo, Idle, Most uint32 }

// lane is one kernel, its ring and what it answers into. Its mutex is held by the caller it serves.
type lane struct {
	mu  sync.Mutex
	w   *Worker
	mem gpu.Buffer
	// relay is where the lead hands descriptors to the other members; zeroed says that its tags are of no launch to come.
	relay  gpu.Buffer
	zeroed bool
	args   [6]gpu.Arg

	ring, records, bits []uint64
	stopWord            *atomic.Uint32
	columns             columns
	params              params
	paramBytes          []byte

	held     [slotWords]uint64 // the batch's first descriptor
	bitsView gpu.View          // bits as a column
	next     uint32            // sequence number of the next descriptor
	first    uint32            // of the batch under way
	kept     gpu.Kept
	stopping atomic.Bool  // the kernel was told to stop and is not launched anew yet
	started  atomic.Int64 // when it was launched
	used     atomic.Int64 // when it last served
	armed    atomic.Bool  // the janitor is at work
	timer    *time.Timer  // the janitor's, made once: it must not allocate
	stopMu   sync.Mutex
	gone     bool // the memory, under stopMu
}

// epoch is where times are counted from.
var epoch = time.Now()

func now() int64 { return int64(time.Since(epoch)) }

// newLane allocates a lane. Its parts begin on lines of their own.
func newLane(w *Worker) (*lane, error) {
	l := &lane{w: w, next: 1}
	sizes := [4]int{ringSlots * slotWords, ringSlots * maxMembers * recordWords, MaxRows / 32, 16}
	total := 0
	for _, n := range sizes {
		total += n
	}
	var err error
	if l.mem, err = w.dev.Alloc(8*total, gpu.Shared); err != nil {
		return nil, err
	}
	host := l.mem.Host()
	clear(host)
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&host[0])), total)
	var parts [4][]uint64
	off := 0
	for i, n := range sizes {
		parts[i] = words[off : off+n]
		l.args[[4]int{0, 1, 3, 4}[i]] = gpu.Arg{Buf: l.mem, Off: 8 * off}
		off += n
	}
	l.ring, l.records, l.bits = parts[0], parts[1], parts[2]
	l.bitsView = gpu.View{Buf: l.mem, Off: l.args[3].Off}
	l.stopWord = (*atomic.Uint32)(unsafe.Pointer(&parts[3][0]))
	if l.relay, err = w.dev.Alloc(relayBytes, gpu.Private); err != nil {
		l.mem.Release()
		return nil, err
	}
	l.args[2] = gpu.Arg{Buf: l.relay}
	l.timer = time.AfterFunc(time.Hour, l.janitor)
	l.timer.Stop()
	l.columns.handle = map[columnKey]uint8{}
	l.columns.batch = 1
	l.params = params{Relay: 1, Members: uint32(w.opts.Members), Solo: uint32(w.opts.Solo), Idle: idleLooks, Most: mostLooks}
	l.paramBytes = unsafe.Slice((*byte)(unsafe.Pointer(&l.params)), unsafe.Sizeof(l.params))
	l.args[5] = gpu.Arg{Bytes: l.paramBytes}
	return l, nil
}

// stop tells the kernel to end. It uses no device, and no lock that is held while one is used.
func (l *lane) stop() {
	l.stopMu.Lock()
	defer l.stopMu.Unlock()
	if !l.gone {
		l.stopping.Store(true)
		l.stopWord.Store(1)
	}
}

// launch starts a kernel that goes on with the next descriptor. The one before has ended.
func (l *lane) launch() error {
	l.end()
	if l.params.Relay += relayStride; !l.zeroed || l.params.Relay > 1<<32-2*relayStride {
		if err := l.clearRelay(); err != nil {
			return err
		}
		l.zeroed, l.params.Relay = true, 1
	}
	l.columns.forget()
	l.stopWord.Store(0)
	l.stopping.Store(false)
	l.params.First = l.next
	kept, err := l.w.dev.Launch(l.w.pipe, l.w.opts.Members, threads, l.args[:], l.stop)
	if err != nil {
		return err
	}
	l.kept = kept
	l.used.Store(now())
	l.started.Store(now())
	l.arm()
	return nil
}

// clearRelay zeroes the relay's tags.
func (l *lane) clearRelay() error {
	zeros, err := l.w.dev.Alloc(relayBytes, gpu.Shared)
	if err != nil {
		return err
	}
	defer zeros.Release()
	clear(zeros.Host())
	c := l.w.dev.Commands()
	c.Copy(l.relay, 0, zeros, 0, relayBytes)
	e, err := c.Commit()
	if err != nil {
		return err
	}
	return e.Wait(context.Background())
}

// end waits for the kernel's end, if there is one, and lets go of it.
func (l *lane) end() {
	if l.kept != nil {
		l.kept.Release()
		l.kept = nil
	}
}

// reset makes the lane forget all it was told. It has no kernel.
func (l *lane) reset() {
	clear(l.ring)
	clear(l.records)
	clear(l.bits)
	l.next = 1
}

// arm starts the janitor unless it is at work.
func (l *lane) arm() {
	if !l.armed.Swap(true) {
		l.timer.Reset(janitorEach)
	}
}

// janitor stops a kernel that idles or has run for long.
func (l *lane) janitor() {
	if l.stopping.Load() {
		l.armed.Store(false)
		if !l.stopping.Load() { // launched meanwhile
			l.arm()
		}
		return
	}
	if t := now(); t-l.used.Load() > int64(l.w.opts.Idle) || t-l.started.Load() > int64(l.w.opts.Lifetime) {
		l.stop()
	}
	l.timer.Reset(janitorEach)
}

// close stops the kernel and frees the lane.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	l.end()
	l.stopMu.Lock()
	defer l.stopMu.Unlock()
	l.gone = true
	l.mem.Release()
	l.relay.Release()
}

package resident

import (
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
	// batchTasks is how many tasks are in the ring at most, each with up to three handles that the kernel is told of.
	batchTasks = 12
)

// The life of a lane's kernel. A look takes about a microsecond where the ring is across a bus. The host stops it, so the
// limits in looks are for a process that is stopped or gone.
const (
	idleStop    = 2 * time.Millisecond
	lifetime    = 50 * time.Millisecond
	idleLooks   = 1 << 16
	mostLooks   = 1 << 20
	janitorEach = time.Millisecond
)

// params is what a launch passes.
type params struct{ First, Members, Solo, Idle, Most uint32 }

// lane is one kernel, its ring and what it answers into. Its mutex is held by the caller it serves.
type lane struct {
	mu   sync.Mutex
	w    *Worker
	mem  gpu.Buffer
	args [6]gpu.Arg

	ring, records, bits []uint64
	stopWord            *atomic.Uint32
	columns             columns
	params              params
	paramBytes          []byte

	next     uint32 // sequence number of the next descriptor
	first    uint32 // of the batch under way
	kept     gpu.Kept
	stopping atomic.Bool  // the kernel was told to stop and is not launched anew yet
	started  atomic.Int64 // when it was launched
	used     atomic.Int64 // when it last served
	armed    atomic.Bool  // the janitor is at work
	stopMu   sync.Mutex
	gone     bool // the memory, under stopMu
}

// epoch is where times are counted from.
var epoch = time.Now()

func now() int64 { return int64(time.Since(epoch)) }

// newLane allocates a lane. Its parts begin on lines of their own.
func newLane(w *Worker) (*lane, error) {
	l := &lane{w: w, next: 1}
	sizes := [5]int{ringSlots * slotWords, ringSlots * maxMembers * recordWords, columnCount * columnWords, MaxRows / 32, 16}
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
	var parts [5][]uint64
	off := 0
	for i, n := range sizes {
		parts[i] = words[off : off+n]
		l.args[i] = gpu.Arg{Buf: l.mem, Off: 8 * off}
		off += n
	}
	l.ring, l.records, l.columns.table, l.bits = parts[0], parts[1], parts[2], parts[3]
	l.stopWord = (*atomic.Uint32)(unsafe.Pointer(&parts[4][0]))
	l.columns.handle = map[columnKey]uint8{}
	l.columns.batch = 1
	l.params = params{Members: uint32(w.opts.Members), Solo: uint32(w.opts.Solo), Idle: idleLooks, Most: mostLooks}
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

// launch starts the kernel at the batch under way. The one before has ended.
func (l *lane) launch() error {
	l.end()
	l.stopWord.Store(0)
	l.stopping.Store(false)
	l.params.First = l.first
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
		time.AfterFunc(janitorEach, l.janitor)
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
	if t := now(); t-l.used.Load() > int64(idleStop) || t-l.started.Load() > int64(lifetime) {
		l.stop()
	}
	time.AfterFunc(janitorEach, l.janitor)
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
}

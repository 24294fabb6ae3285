//go:build linux && (amd64 || arm64)

package cuda

import (
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
)

const (
	// maxStreams is how many commits can run beside each other.
	maxStreams = 8
	// wordSpacing keeps the completion words of two commits in two cache lines.
	wordSpacing = 128
	slotBlock   = 64 // slots made at a time
	// streamRoom is how many commands wait on a stream. The driver holds about 1,024 and makes the caller wait for more,
	// for ever if the first of them never ends.
	streamRoom = 512
	// markEvery is after how many commands a long commit says that it has got so far.
	markEvery = 128

	eventBlocking = 1 | 2 // blocking wait, no timing
	eventTimed    = 1
)

// stream is a CUDA stream and how much is on it.
type stream struct {
	handle uintptr
	queued int // commands, about
}

// slot is what one commit in flight needs: a word in host memory that its stream writes last, whose value rises by one
// with each use so that it tells of this commit and no other, and two events if it is timed.
type slot struct {
	word       *atomic.Uint64
	at         uintptr // the word as the device sees it
	value      uint64
	marks      uint64 // values below value that tell how far a long commit has got
	stream     *stream
	commands   int
	start, end uintptr // made when first needed
}

// slotPool holds the slots that no commit in flight uses, and the streams.
type slotPool struct {
	mu      sync.Mutex
	idle    []*slot
	all     []*slot
	words   []*buffer
	streams []*stream
	room    chan struct{} // closed when commands have ended; made by a commit that finds no room
}

// take returns a slot with its next value for a commit of so many commands, on the stream with the fewest. If there is no
// room, it returns a channel that is closed when there may be.
func (p *slotPool) take(d *device, s *session, commands int) (*slot, <-chan struct{}, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	st, err := p.stream(d, s)
	if err != nil {
		return nil, nil, err
	}
	if st.queued > 0 && st.queued+commands > streamRoom {
		if p.room == nil {
			p.room = make(chan struct{})
		}
		return nil, p.room, nil
	}
	if len(p.idle) == 0 {
		if err := p.grow(d); err != nil {
			return nil, nil, err
		}
	}
	last := len(p.idle) - 1
	sl := p.idle[last]
	p.idle = p.idle[:last]
	sl.marks = uint64(commands / markEvery)
	sl.value += 1 + sl.marks
	sl.stream, sl.commands = st, commands
	st.queued += commands
	return sl, nil, nil
}

// stream chooses one: the first that is idle, a new one, or the least busy. The caller holds mu.
func (p *slotPool) stream(d *device, s *session) (*stream, error) {
	var least *stream
	for _, st := range p.streams {
		if least == nil || st.queued < least.queued {
			least = st
		}
	}
	if least != nil && (least.queued == 0 || len(p.streams) == maxStreams) {
		return least, nil
	}
	if st := s.call(cuStreamCreate, s.result(0), streamNonBlocking); st != success {
		return nil, d.judge(st)
	}
	made := &stream{handle: s.out[0]}
	p.streams = append(p.streams, made)
	return made, nil
}

// grow makes slots. The caller holds mu.
func (p *slotPool) grow(d *device) error {
	words, err := d.alloc(slotBlock*wordSpacing, gpu.Shared)
	if err != nil {
		return err
	}
	clear(words.host)
	p.words = append(p.words, words)
	for off := 0; off < words.n; off += wordSpacing {
		sl := &slot{word: (*atomic.Uint64)(unsafe.Pointer(&words.host[off])), at: words.at + uintptr(off)}
		p.all, p.idle = append(p.all, sl), append(p.idle, sl)
	}
	return nil
}

// put makes a slot free for another commit.
func (p *slotPool) put(sl *slot) {
	p.mu.Lock()
	sl.stream.queued -= sl.commands
	p.idle = append(p.idle, sl)
	if p.room != nil {
		close(p.room)
		p.room = nil
	}
	p.mu.Unlock()
}

// free frees all slots and streams; none is in use.
func (p *slotPool) free(s *session) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, st := range p.streams {
		s.call(cuStreamDestroy, st.handle)
	}
	for _, sl := range p.all {
		for _, e := range []uintptr{sl.start, sl.end} {
			if e != 0 {
				s.call(cuEventDestroy, e)
			}
		}
	}
	for _, w := range p.words {
		w.Release()
	}
	p.streams, p.all, p.idle, p.words = nil, nil, nil, nil
}

// timer makes the two events of a timed commit.
func (sl *slot) timer(s *session) bool {
	for _, e := range []*uintptr{&sl.start, &sl.end} {
		if *e != 0 {
			continue
		}
		if s.call(cuEventCreate, s.result(0), eventTimed) != success {
			return false
		}
		*e = s.out[0]
	}
	return true
}

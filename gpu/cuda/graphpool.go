//go:build linux && (amd64 || arm64)

package cuda

import (
	"hash/maphash"
	"slices"
	"sync"
	"unsafe"
)

const (
	// graphUse is the use of a shape on which its graph is built: what comes once or twice is not worth it.
	graphUse = 3
	// maxShapes is how many shapes are remembered, and maxGraphs how many graphs a shape has for commits beside each other.
	maxShapes = 64
	maxGraphs = maxStreams
)

// shape is what recordings of one graph have in common.
type shape struct {
	key    []uint64 // kernels, grids and sizes of arguments
	uses   int      // up to graphUse
	last   uint64   // use of any shape
	graphs int      // that there are, or are being built
	idle   []*graph
	plain  bool // the driver has not taken it
	gone   bool // not remembered any more
}

// graphPool remembers the shapes of recordings and keeps graphs, the least recently used go first.
type graphPool struct {
	mu     sync.Mutex
	seed   maphash.Seed
	shapes map[uint64]*shape
	clock  uint64
	closed bool
}

// take returns an idle graph of the shape in the session, or the shape of a graph that is to be built, or nothing: then
// the recording is launched step by step.
func (p *graphPool) take(s *session) (*graph, *shape) {
	var dropped []*graph
	p.mu.Lock()
	g, of := p.takeLocked(s.shape, &dropped)
	p.mu.Unlock()
	for _, old := range dropped {
		old.destroy(s)
	}
	return g, of
}

func (p *graphPool) takeLocked(key []uint64, dropped *[]*graph) (*graph, *shape) {
	if p.closed {
		return nil, nil
	}
	if p.shapes == nil {
		p.shapes, p.seed = map[uint64]*shape{}, maphash.MakeSeed()
	}
	hash := maphash.Bytes(p.seed, unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(key))), 8*len(key)))
	p.clock++
	x := p.shapes[hash]
	if x == nil {
		if len(p.shapes) == maxShapes {
			*dropped = p.dropOldest()
		}
		x = &shape{key: slices.Clone(key)}
		p.shapes[hash] = x
	}
	if !slices.Equal(x.key, key) {
		return nil, nil
	}
	x.last = p.clock
	x.uses = min(x.uses+1, graphUse)
	switch last := len(x.idle) - 1; {
	case x.plain || x.uses < graphUse:
	case last >= 0:
		g := x.idle[last]
		x.idle = x.idle[:last]
		return g, nil
	case x.graphs < maxGraphs:
		x.graphs++
		return nil, x
	}
	return nil, nil
}

// dropOldest forgets the shape that was used longest ago and returns its idle graphs. The caller holds mu.
func (p *graphPool) dropOldest() []*graph {
	var oldest uint64
	for hash, x := range p.shapes {
		if old := p.shapes[oldest]; old == nil || x.last < old.last {
			oldest = hash
		}
	}
	return p.drop(oldest)
}

// drop forgets a shape and returns its idle graphs; those that run are destroyed when they end. The caller holds mu.
func (p *graphPool) drop(hash uint64) []*graph {
	x := p.shapes[hash]
	delete(p.shapes, hash)
	idle := x.idle
	x.gone, x.idle = true, nil
	return idle
}

// forget destroys the graphs of a kernel that is about to be unloaded; recordings keep their kernels, so none runs.
func (p *graphPool) forget(k *pipeline) {
	var idle []*graph
	p.mu.Lock()
	for hash, x := range p.shapes {
		for i := 0; i < len(x.key); i += shapeWords {
			if f := uintptr(x.key[i]); f == k.code.function || k.byAddress != nil && f == k.byAddress.function {
				idle = append(idle, p.drop(hash)...)
				break
			}
		}
	}
	p.mu.Unlock()
	k.dev.destroyGraphs(idle...)
}

// close destroys all graphs; none runs.
func (p *graphPool) close(s *session) {
	p.mu.Lock()
	p.closed = true
	shapes := p.shapes
	p.shapes = nil
	p.mu.Unlock()
	for _, x := range shapes {
		for _, g := range x.idle {
			g.destroy(s)
		}
	}
}

// destroyGraphs destroys graphs that do not run, for callers without a session.
func (d *device) destroyGraphs(list ...*graph) {
	if len(list) == 0 {
		return
	}
	s, err := d.ctx.begin()
	if err != nil {
		return // they are gone with the context
	}
	defer s.end()
	for _, g := range list {
		g.destroy(s)
	}
}

// putGraph makes a graph that has run free for another commit. It destroys it if its shape was forgotten meanwhile, or if
// it is spoiled: then the shape is launched step by step from now on.
func (d *device) putGraph(g *graph) {
	p := &d.graphs
	p.mu.Lock()
	gone := g.shape.gone || g.spoiled || p.closed
	if !gone {
		g.shape.idle = append(g.shape.idle, g)
	}
	p.mu.Unlock()
	if !gone {
		return
	}
	if g.spoiled {
		p.refuse(g.shape, true)
	}
	d.destroyGraphs(g)
}

// refuse notes that a graph of the shape was not built; for good: the driver does not take it.
func (p *graphPool) refuse(x *shape, forGood bool) {
	p.mu.Lock()
	x.graphs--
	x.plain = x.plain || forGood
	p.mu.Unlock()
}

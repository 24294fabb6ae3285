//go:build linux && (amd64 || arm64)

package cuda

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"unsafe"
)

// A recording of several steps that comes again and again becomes a CUDA graph: one launch instead of one a step. The
// graph keeps what its nodes were given last, and a node is told its arguments anew only where they differ; a batch over
// the same columns mostly differs in nothing, since pools hand out what was given back last. A table in memory that the
// kernels read instead would cost a copy each time, a dependent load in each kernel and a second variant of each to
// compile, to save these calls.
//
// Nodes follow one another as on a stream: kernels between two barriers could run beside each other, and do not.

const (
	// graphFrom and graphTo bound the steps of a recording that becomes a graph.
	graphFrom = 2
	graphTo   = 128
)

// kernelNode is CUDA_KERNEL_NODE_PARAMS_v2.
type kernelNode struct {
	function                                            uintptr
	gridX, gridY, gridZ, blockX, blockY, blockZ, shared uint32
	params, extra, kernel, context                      uintptr
}

// memoryNode is CUDA_MEMCPY3D.
type memoryNode struct {
	src, dst             memoryEnd
	width, height, depth uintptr
}

type memoryEnd struct {
	x, y, z, detail             uintptr
	kind                        uint32
	host, device, array, unused uintptr
	pitch, height               uintptr
}

// memoryUnified is CU_MEMORYTYPE_UNIFIED: the driver finds out from the address.
const memoryUnified = 4

// graph is a graph made executable. It runs one commit at a time, and nothing changes it meanwhile.
type graph struct {
	shape  *shape
	handle uintptr   // the nodes' own graph
	exec   uintptr   // what is launched
	nodes  []uintptr // CUgraphNode
	image  []byte    // the arguments that the nodes have

	spoiled bool // it is not launched again
}

// launch puts the recording on the stream: as a graph, which it returns, if there is one.
func (q *queue) launch() (*graph, error) {
	if err := q.resolve(); err != nil {
		return nil, err
	}
	if n := len(q.nodes); n >= graphFrom && n <= graphTo {
		g, err := q.graph()
		if g != nil || err != nil {
			return g, err
		}
	}
	return nil, q.stepByStep()
}

// graph launches the recording's graph. It is nil where the recording is to be launched step by step.
func (q *queue) graph() (*graph, error) {
	q.describe()
	pool := &q.dev.graphs
	g, of := pool.take(q.session)
	if g == nil && of == nil {
		return nil, nil
	}
	if err := q.arguments(); err != nil {
		if g != nil {
			q.dev.putGraph(g)
		} else {
			pool.refuse(of, false)
		}
		return nil, err
	}
	if g == nil {
		if g = q.build(); g == nil {
			pool.refuse(of, true)
			return nil, nil
		}
		g.shape = of
	} else if !q.update(g) {
		g.spoiled = true
		q.dev.putGraph(g)
		return nil, nil
	}
	if st := q.call(cuGraphLaunch, g.exec, q.stream); st != success {
		g.spoiled = true
		return g, fmt.Errorf("a graph of %d nodes: %w", len(g.nodes), q.dev.judge(st))
	}
	return g, nil
}

// shapeWords is how many words of a shape a node has; the first is the kernel's function.
const shapeWords = 3

// describe writes the recording's shape: all that its graph cannot change.
func (q *queue) describe() {
	q.shape = q.shape[:0]
	for i := range q.nodes {
		n := &q.nodes[i]
		if n.copy != nil {
			q.shape = append(q.shape, 0, uint64(n.copy.N), uint64(placesOf(n.copy)))
			continue
		}
		q.shape = append(q.shape, uint64(n.code.function), uint64(n.x)<<32|uint64(n.y), uint64(n.threads)<<32|uint64(n.size))
	}
}

// placesOf tells copies by the kinds of memory.
func placesOf(c *step) (places int) {
	if c.Src.host != nil {
		places |= 1
	}
	if c.Dst.host != nil {
		places |= 2
	}
	return places
}

// arguments writes what every node is given into the session's image, a node after the other.
func (q *queue) arguments() error {
	q.image = q.image[:0]
	for i := range q.nodes {
		n := &q.nodes[i]
		if n.copy != nil {
			q.image = binary.NativeEndian.AppendUint64(q.image, uint64(n.copy.Src.at)+uint64(n.copy.SrcOff))
			q.image = binary.NativeEndian.AppendUint64(q.image, uint64(n.copy.Dst.at)+uint64(n.copy.DstOff))
			n.size = 16
			continue
		}
		if err := q.bind(n); err != nil {
			return err
		}
		args := n.bindings()
		for k, param := range n.code.params {
			switch {
			case !param.reference || n.code.byAddress:
				q.image = binary.NativeEndian.AppendUint64(q.image, uint64(q.values[k]))
			case param.index < len(args):
				q.image = append(q.image, q.rec.Bytes[args[param.index].From:args[param.index].To]...)
			}
		}
	}
	return nil
}

// build makes the recording's graph, nil if the driver does not.
func (q *queue) build() *graph {
	if q.call(cuGraphCreate, q.result(0), 0) != success {
		return nil
	}
	g := &graph{handle: q.out[0], nodes: make([]uintptr, len(q.nodes)), image: bytes.Clone(q.image)}
	for i := range q.nodes {
		if !q.add(g, i) {
			g.destroy(q.session)
			return nil
		}
	}
	if q.call(cuGraphInstantiate, q.result(0), g.handle, 0) != success {
		g.destroy(q.session)
		return nil
	}
	g.exec = q.out[0]
	// What a first launch would do is done here, where kernels that stay have been stopped.
	if q.call(cuGraphUpload, g.exec, q.stream) != success {
		g.destroy(q.session)
		return nil
	}
	return g
}

// add adds a node behind the last.
func (q *queue) add(g *graph, i int) bool {
	var after, count uintptr
	if i > 0 {
		after, count = uintptr(unsafe.Pointer(&g.nodes[i-1])), 1
	}
	n := &q.nodes[i]
	var st status
	if n.copy != nil {
		st = q.call(cuGraphAddMemcpyNode, q.result(0), g.handle, after, count, q.memoryNode(n.copy), q.dev.ctx.handle)
	} else {
		if q.bind(n) != nil {
			return false
		}
		st = q.call(cuGraphAddKernelNode, q.result(0), g.handle, after, count, q.kernelNode(n))
		runtime.KeepAlive(q.rec)
	}
	runtime.KeepAlive(g)
	g.nodes[i] = q.out[0]
	return st == success
}

// kernelNode describes a kernel whose arguments are bound.
func (q *queue) kernelNode(n *node) uintptr {
	q.kernel = kernelNode{
		function: n.code.function, gridX: uint32(n.x), gridY: uint32(n.y), gridZ: 1, blockX: uint32(n.threads), blockY: 1, blockZ: 1,
		params: uintptr(unsafe.Pointer(&q.where)),
	}
	return uintptr(unsafe.Pointer(&q.kernel))
}

// memoryNode describes a copy.
func (q *queue) memoryNode(c *step) uintptr {
	end := func(b *buffer, off int) memoryEnd {
		return memoryEnd{kind: memoryUnified, device: b.at + uintptr(off), pitch: uintptr(c.N), height: 1}
	}
	q.memory = memoryNode{src: end(c.Src, c.SrcOff), dst: end(c.Dst, c.DstOff), width: uintptr(c.N), height: 1, depth: 1}
	return uintptr(unsafe.Pointer(&q.memory))
}

// update tells the nodes whose arguments have changed.
func (q *queue) update(g *graph) bool {
	from := 0
	for i := range q.nodes {
		n := &q.nodes[i]
		to := from + n.size
		if !bytes.Equal(q.image[from:to], g.image[from:to]) && !q.tell(g, i) {
			return false
		}
		from = to
	}
	copy(g.image, q.image)
	return true
}

// tell gives a node its arguments.
func (q *queue) tell(g *graph, i int) bool {
	n := &q.nodes[i]
	if n.copy != nil {
		return q.call(cuGraphExecMemcpyNodeSetParams, g.exec, g.nodes[i], q.memoryNode(n.copy), q.dev.ctx.handle) == success
	}
	if q.bind(n) != nil {
		return false
	}
	st := q.call(cuGraphExecKernelNodeSetParams, g.exec, g.nodes[i], q.kernelNode(n))
	runtime.KeepAlive(q.rec)
	return st == success
}

// destroy frees a graph that does not run.
func (g *graph) destroy(s *session) {
	if g.exec != 0 {
		s.call(cuGraphExecDestroy, g.exec)
	}
	s.call(cuGraphDestroy, g.handle)
}

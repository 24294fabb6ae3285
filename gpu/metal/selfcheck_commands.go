//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"fmt"
	"unsafe"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/gpu/internal/record"
)

const checkPreamble = `#include <metal_stdlib>
using namespace metal;
static inline ulong group_index(uint3 tg) { return (ulong)tg.y * 65536ul + (ulong)tg.x; }
`

// checkKernels are what the self-check dispatches: a thread an element of out.
var checkKernels = map[string]string{
	"check_fill": `kernel void check_fill(device uint* out [[buffer(0)]], constant ulong& n [[buffer(1)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * 256ul + (ulong)tid;
    if (i < n) out[i] = (uint)i + 1u;
}
`,
	"check_reverse": `kernel void check_reverse(device const uint* a [[buffer(0)]], device uint* out [[buffer(1)]], constant ulong& n [[buffer(2)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    ulong i = group_index(tg) * 256ul + (ulong)tid;
    if (i < n) out[n - 1ul - i] = a[i] + 1u;
}
`,
	"check_group": `kernel void check_group(device uint* out [[buffer(0)]], device atomic_uint* total [[buffer(1)]], constant ulong& n [[buffer(2)]],
    uint3 tg [[threadgroup_position_in_grid]], uint tid [[thread_index_in_threadgroup]]) {
    threadgroup uint part[256];
    uint x = (tid * 2654435761u) >> 8;
    part[tid] = simd_sum(x) + simd_prefix_exclusive_sum(x) + (uint)(simd_vote::vote_t)simd_ballot((x & 1u) != 0u);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    ulong i = group_index(tg) * 256ul + (ulong)tid;
    if (i < n) {
        out[i] = part[255u - tid];
        atomic_fetch_add_explicit(total, x, memory_order_relaxed);
    }
}
`,
	"check_float": `kernel void check_float(device const float* a [[buffer(0)]], device float* out [[buffer(1)]], constant ulong& n [[buffer(2)]],
    uint tid [[thread_index_in_threadgroup]]) {
    if (tid != 0u) return;
    out[0] = a[0] * a[1] + a[2];
    out[1] = fma(a[0], a[1], a[2]);
    out[2] = a[3] * a[4];
    out[3] = a[5] / a[6];
}
`,
}

// commands runs a little of every kind of command, where package gputest has a suite.
func (c *checker) commands() {
	for _, check := range []struct {
		name string
		run  func() (string, error)
	}{
		{"dispatch over folded rows of threadgroups", c.checkDispatch},
		{"barriers, copies and dispatches in one recording", c.checkOrder},
		{"SIMD-groups, threadgroup memory, atomics", c.checkGroups},
		{"host memory without a copy", c.checkWrap},
		{"a wrong text is an error that names its line", c.checkWrongText},
		{"float arithmetic", c.checkFloat},
	} {
		c.try("commands", check.name, check.run)
	}
}

// run dispatches one of checkKernels over n elements.
func (c *checker) run(record gpu.Commands, name string, n int, buffers ...gpu.Buffer) error {
	p, err := c.dev.Compile(gpu.Source{Name: name, Text: checkPreamble + checkKernels[name]})
	if err != nil {
		return err
	}
	record.Retain(nil, p.Release)
	var args []gpu.Arg
	for _, b := range buffers {
		args = append(args, gpu.Arg{Buf: b})
	}
	length := uint64(n)
	args = append(args, gpu.Arg{Bytes: append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&length)), 8)...)})
	record.Dispatch(p, (n+255)/256, 256, args)
	return nil
}

// finish commits and waits.
func (c *checker) finish(record gpu.Commands) error {
	e, err := record.Commit()
	if err != nil {
		return err
	}
	return e.Wait(c.ctx)
}

// one runs one kernel and waits for it.
func (c *checker) one(name string, n int, buffers ...gpu.Buffer) error {
	record := c.dev.Commands()
	if err := c.run(record, name, n, buffers...); err != nil {
		record.Discard()
		return err
	}
	return c.finish(record)
}

// words allocates shared buffers of n words each, all bits set.
func (c *checker) words(n, count int) (buffers []gpu.Buffer, free func(), err error) {
	free = func() {
		for _, b := range buffers {
			b.Release()
		}
	}
	for range count {
		b, err := c.dev.Alloc(4*n, gpu.Shared)
		if err != nil {
			free()
			return nil, nil, err
		}
		buffers = append(buffers, b)
		host := b.Host()
		for i := range host {
			host[i] = 0xff
		}
	}
	return buffers, free, nil
}

// wordsOf is a buffer's memory as words.
func wordsOf(b gpu.Buffer) []uint32 {
	host := b.Host()
	return unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(host))), len(host)/4)
}

// differs compares every word with what it should be.
func differs(got []uint32, want func(i int) uint32) error {
	for i, v := range got {
		if v != want(i) {
			return fmt.Errorf("word %d of %d is %#x, not %#x", i, len(got), v, want(i))
		}
	}
	return nil
}

func (c *checker) checkDispatch() (string, error) {
	n := 256*(record.RowSize+1) + 5 // more than a row, and a part of a threadgroup
	if c.options.Quick {
		n = 100_003
	}
	b, free, err := c.words(n, 1)
	if err != nil {
		return "", err
	}
	defer free()
	if err := c.one("check_fill", n, b[0]); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d threads", n), differs(wordsOf(b[0]), func(i int) uint32 { return uint32(i) + 1 })
}

func (c *checker) checkOrder() (string, error) {
	const n, rounds = 10_001, 8
	b, free, err := c.words(n, 3)
	if err != nil {
		return "", err
	}
	defer free()
	record := c.dev.Commands()
	err = c.run(record, "check_fill", n, b[0])
	for i := range rounds {
		if err == nil {
			record.Barrier()
			err = c.run(record, "check_reverse", n, b[i%2], b[(i+1)%2])
		}
	}
	if err != nil {
		record.Discard()
		return "", err
	}
	record.Barrier()
	record.Copy(b[2], 0, b[0], 0, 4*n-7) // not in words: a kernel copies it
	record.Barrier()
	record.Copy(b[2], 4*n-8, b[0], 4*n-8, 8)
	if err := c.finish(record); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d kernels and 2 copies in order", rounds+1), differs(wordsOf(b[2]), func(i int) uint32 { return uint32(i) + 1 + rounds })
}

func (c *checker) checkGroups() (string, error) {
	const n = 3 * 256
	b, free, err := c.words(n, 2)
	if err != nil {
		return "", err
	}
	defer free()
	clear(b[1].Host())
	if err := c.one("check_group", n, b...); err != nil {
		return "", err
	}
	at := func(tid int) uint32 { return uint32(tid) * 2654435761 >> 8 }
	part := func(tid int) uint32 {
		var sum, prefix, odd uint32
		for k := range simdWidth {
			x := at(tid&^(simdWidth-1) + k)
			if k < tid%simdWidth {
				prefix += x
			}
			sum += x
			odd |= x & 1 << k
		}
		return sum + prefix + odd
	}
	if err := differs(wordsOf(b[0]), func(i int) uint32 { return part(255 - i%256) }); err != nil {
		return "", err
	}
	var total uint32
	for i := range n {
		total += at(i % 256)
	}
	return "", differs(wordsOf(b[1])[:1], func(int) uint32 { return total })
}

func (c *checker) checkWrap() (string, error) {
	m, err := mapMemory(3 * pageSize)
	if err != nil {
		return "", err
	}
	defer m.unmap()
	b, err := c.dev.Wrap(m.page[:3*pageSize])
	if err != nil {
		return "", err
	}
	defer b.Release()
	const n = 3 * pageSize / 4
	if err := c.one("check_fill", n, b); err != nil {
		return "", err
	}
	host := unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(m.page))), n)
	return "the GPU writes where the host reads", differs(host, func(i int) uint32 { return uint32(i) + 1 })
}

func (c *checker) checkWrongText() (string, error) {
	const text = "#include <metal_stdlib>\nusing namespace metal;\nkernel void wrong(device uint* a [[buffer(0)]]) {\n    a[0] = undeclared_name;\n}\n"
	p, err := c.dev.Compile(gpu.Source{Name: "wrong", Text: text})
	var wrong *gpu.CompileError
	switch {
	case err == nil:
		p.Release()
		return "", errors.New("it compiled")
	case !errors.As(err, &wrong):
		return "", err
	case wrong.Line != 4:
		return "", fmt.Errorf("line %d, not 4: %s", wrong.Line, wrong.Log)
	}
	return fmt.Sprintf("line %d", wrong.Line), nil
}

// checkFloat looks at what only affects arithmetic on float: none of it may decide an answer.
func (c *checker) checkFloat() (string, error) {
	b, free, err := c.words(8, 2)
	if err != nil {
		return "", err
	}
	defer free()
	x := float32(1) + 0x1p-12
	copy(unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b[0].Host()))), 8), []float32{x, x, -(1 + 0x1p-11), 0x1p-100, 0x1p-40, 1, 3})
	if err := c.one("check_float", 8, b...); err != nil {
		return "", err
	}
	const fused, third = 0x33800000, 0x3eaaaaab // 2^-24, the float next to 1/3
	got := wordsOf(b[1])
	contracted, flushed := "x*y + z rounds twice", "subnormals stay"
	if got[0] == fused {
		contracted = "x*y + z rounds once"
	}
	if got[2] == 0 {
		flushed = "subnormals become 0"
	}
	switch {
	case got[0] != 0 && got[0] != fused, got[1] != fused:
		return "", fmt.Errorf("x*y + z is %#x, fma(x, y, z) %#x", got[0], got[1])
	case got[3] < third-1 || got[3] > third+1:
		return "", fmt.Errorf("1/3 is %#x", got[3])
	case got[3] != third:
		return contracted + ", " + flushed + ", division is not correctly rounded", nil
	}
	return contracted + ", " + flushed + ", division is correctly rounded", nil
}

//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/broadhead-go/broadhead/gpu"
)

// What the tests outside see of the driver's inside.
var (
	CompileError = compileError
	Grid         = func(groups int) [3]uintptr { g := grid(groups); return [3]uintptr{g.width, g.height, g.depth} }
)

// KeptSlots and LostAfter are the driver's limits.
const (
	KeptSlots = keptSlots
	LostAfter = lostAfter
)

// CheckSelectors compares the table of messages with a runtime: every receiver must understand its messages with the
// encodings that the calls assume. It returns what differs.
func CheckSelectors(libs Libs) ([]string, error) {
	var classOf, methodOf, encodingOf uintptr
	for _, f := range []struct {
		to   *uintptr
		name string
	}{{&classOf, "object_getClass"}, {&methodOf, "class_getInstanceMethod"}, {&encodingOf, "method_getTypeEncoding"}} {
		var err error
		if *f.to, err = purego.Dlsym(libs.ObjC, f.name); err != nil {
			return nil, err
		}
	}
	devices, err := Open(libs, "test")
	if err != nil {
		return nil, err
	}
	d := devices[0].(*device)
	defer d.Close()
	s := d.rt.begin()
	defer s.end()

	receivers, free, err := s.receivers(d)
	if err != nil {
		return nil, err
	}
	defer free()
	var differences []string
	for i, row := range selectors {
		o, ok := receivers[row.receiver]
		if !ok {
			differences = append(differences, fmt.Sprintf("%s: the test has no %s", row.name, row.receiver))
			continue
		}
		method := s.call(methodOf, s.call(classOf, uintptr(o)), s.rt.sel[i])
		if method == 0 {
			if row.since == 0 && selector(i) != selSetBuffers {
				differences = append(differences, fmt.Sprintf("%s does not understand %s", row.receiver, row.name))
			}
			continue
		}
		encoding := plain(cText(s.call(encodingOf, method)))
		if encoding != row.encoding {
			differences = append(differences, fmt.Sprintf("%s %s is %s, not %s", row.receiver, row.name, encoding, row.encoding))
		}
	}
	return differences, nil
}

// receivers makes an object of each kind that the table names.
func (s *session) receivers(d *device) (map[string]id, func(), error) {
	p, err := d.Compile(gpu.Source{Name: "k", Text: "kernel void k(device int* a [[buffer(0)]]) { a[0] = 1; }"})
	if err != nil {
		return nil, nil, err
	}
	text := s.string("text")
	options := id(s.send(s.rt.classOptions, selNew))
	library, log := s.library(d.id, "kernel void k(device int* a [[buffer(0)]]) { a[0] = 1; }")
	if library == 0 {
		return nil, nil, fmt.Errorf("%s", log)
	}
	s.library(d.id, "no program") // leaves an error
	event := id(s.send(d.id, selNewSharedEvent))
	array := id(s.call(s.rt.copyDevices))
	first, second := id(s.send(d.queue, selCommandBuffer)), id(s.send(d.queue, selCommandBuffer))
	compute := id(s.send(first, selComputeEncoder, dispatchConcurrent))
	blit := id(s.send(second, selBlitEncoder))
	all := map[string]id{
		"NSString class": s.rt.classString, "MTLCompileOptions class": s.rt.classOptions,
		"device": d.id, "string": text, "array": array, "error": id(s.nserr), "options": options, "library": library,
		"pipeline": p.(*pipeline).id, "event": event, "queue": d.queue, "command buffer": first,
		"compute encoder": compute, "blit encoder": blit,
	}
	return all, func() {
		s.send(compute, selEndEncoding)
		s.send(blit, selEndEncoding)
		for _, o := range []id{text, options, library, event, array} {
			s.release(o)
		}
		p.Release()
	}, nil
}

// plain is an encoding without what says nothing about the call: frame offsets and qualifiers. BOOL is a char on Intel.
func plain(encoding string) string {
	var b strings.Builder
	for i := 0; i < len(encoding); i++ {
		switch c := encoding[i]; {
		case c >= '0' && c <= '9':
		case c == 'r' && i+1 < len(encoding) && strings.IndexByte("^*", encoding[i+1]) >= 0:
		case c == 'c':
			b.WriteByte('B')
		case c == 'V' && i == 0:
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

func cText(address uintptr) string {
	p := (*byte)(pointer(address))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// Objects are the MTLDevice and MTLCommandQueue of a device of this driver.
func Objects(d gpu.Device) (dev, queue uintptr) {
	return uintptr(d.(*device).id), uintptr(d.(*device).queue)
}

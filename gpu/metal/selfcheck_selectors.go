//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/broadhead-go/broadhead/gpu"
)

// checkSelectors compares the table of messages with a runtime: every receiver must understand its messages with the
// encodings that the calls assume. It returns what differs.
func checkSelectors(libs Libs) ([]string, error) {
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
	devices, err := Open(libs, "self-check")
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		defer d.Close()
	}
	d := devices[0].(*device)
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
			differences = append(differences, fmt.Sprintf("%s: the check has no %s", row.name, row.receiver))
			continue
		}
		method := s.call(methodOf, s.call(classOf, uintptr(o)), s.rt.sel[i])
		if method == 0 {
			if row.since == 0 {
				differences = append(differences, fmt.Sprintf("%s does not understand %s", row.receiver, row.name))
			}
			continue
		}
		encoding := cText(s.call(encodingOf, method))
		if plainEncoding(encoding) != plainEncoding(row.encoding) {
			differences = append(differences, fmt.Sprintf("%s %s is %s, not %s", row.receiver, row.name, encoding, row.encoding))
		}
	}
	return differences, nil
}

// receivers makes an object of each kind that the table names.
func (s *session) receivers(d *device) (map[string]id, func(), error) {
	const text = "kernel void k(device int* a [[buffer(0)]]) { a[0] = 1; }"
	p, err := d.compile(s, gpu.Source{Name: "k", Text: text})
	if err != nil {
		return nil, nil, err
	}
	library, log := s.library(d.id, text)
	if library == 0 {
		p.Release()
		return nil, nil, errors.New(log)
	}
	if unexpected, _ := s.library(d.id, "no program"); unexpected != 0 { // leaves an error
		s.release(unexpected)
	}
	word, options := s.string("text"), id(s.send(s.rt.classOptions, selNew))
	event := id(s.send(d.id, selNewSharedEvent))
	array := id(s.call(s.rt.copyDevices))
	first, second := id(s.send(d.queue, selCommandBuffer)), id(s.send(d.queue, selCommandBuffer))
	compute := id(s.send(first, selComputeEncoder, dispatchConcurrent))
	blit := id(s.send(second, selBlitEncoder))
	all := map[string]id{
		"NSString class": s.rt.classString, "MTLCompileOptions class": s.rt.classOptions,
		"device": d.id, "string": word, "array": array, "error": id(s.nserr), "options": options, "library": library,
		"pipeline": p.id, "event": event, "queue": d.queue, "command buffer": first,
		"compute encoder": compute, "blit encoder": blit,
	}
	return all, func() {
		s.send(compute, selEndEncoding)
		s.send(blit, selEndEncoding)
		for _, o := range []id{word, options, library, event, array} {
			s.release(o)
		}
		p.Release()
	}, nil
}

// plainEncoding is an encoding without what says nothing about the call: frame offsets, qualifiers, and the names of
// structs, which differ between C and C++. BOOL is a char on Intel.
func plainEncoding(encoding string) string {
	var b strings.Builder
	for i := 0; i < len(encoding); i++ {
		switch c := encoding[i]; {
		case c >= '0' && c <= '9' || strings.IndexByte("rnNoORV", c) >= 0:
		case c == 'c':
			b.WriteByte('B')
		case c == '{':
			i += max(0, strings.IndexByte(encoding[i:], '='))
			b.WriteString("{=")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// cText copies a C string; nil is "".
func cText(address uintptr) string {
	if address == 0 {
		return ""
	}
	p := (*byte)(pointer(address))
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

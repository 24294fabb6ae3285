package cpu

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"
	"unsafe"
)

// selectMorsel is the number of rows whose selected rows are counted together;
// kernels of a Selection may start at any multiple of it.
const selectMorsel = 1 << 14

// Selection is the outcome of a filter: which of n rows are kept, and where in
// the output each morsel of rows starts. It may be used from any number of
// goroutines.
type Selection struct {
	n      int
	words  []byte // the kept rows as whole 64-bit words, bits past n zero
	starts []int  // starts[m] rows are kept before row m*selectMorsel
	mask   Bitmap // validity of the mask where kept rows may be null
}

// Select decides which of n rows a filter keeps; what the selection was before
// does not matter. Rows whose mask is null are dropped, or kept as nulls when
// emitNull is set; what the mask holds under nulls does not matter. At most par
// goroutines are used.
func (s *Selection) Select(mask, maskValid Bitmap, n int, emitNull bool, par int) {
	s.n, s.mask = n, Bitmap{}
	s.words = slices.Grow(s.words[:0], (n+63)>>6<<3)[:(n+63)>>6<<3]
	parts := (n + selectMorsel - 1) / selectMorsel
	s.starts = slices.Grow(s.starts[:0], parts+1)[:parts+1]
	s.starts[0] = 0
	if emitNull {
		s.mask = maskValid
	}
	if parts == 1 {
		s.selectMorsel(mask, maskValid, emitNull, 0, 0, n)
		return
	}
	s.selectMorsels(mask, maskValid, emitNull, par)
	for m := 1; m < len(s.starts); m++ {
		s.starts[m] += s.starts[m-1]
	}
}

func (s *Selection) selectMorsels(mask, maskValid Bitmap, emitNull bool, par int) {
	s.eachMorsel(par, func(m, start, end int) {
		s.selectMorsel(mask.Slice(start), maskValid.Slice(start), emitNull, m, start, end)
	})
}

// selectMorsel finds the kept rows of a morsel and counts them.
func (s *Selection) selectMorsel(mask, maskValid Bitmap, emitNull bool, m, start, end int) {
	words, rows := s.words[start>>3:(end+63)>>6<<3], end-start
	switch {
	case maskValid.All():
		CopyBits(words, mask, rows)
	case emitNull: // set or null
		AndNotBits(words, maskValid, mask, rows)
		NotBits(words, Bitmap{Data: words}, rows)
	default:
		AndBits(words, mask, maskValid, rows)
	}
	FillPadding(words, rows)
	s.starts[m+1] = Bitmap{Data: words}.Count(rows)
}

// EachPart calls f in parallel for the parts, numbered from 0 to Parts, that
// the rows come in; those kept of a part go to the output from row at on.
func (s *Selection) EachPart(par int, f func(part, start, end, at int)) {
	s.eachMorsel(par, func(m, start, end int) { f(m, start, end, s.starts[m]) })
}

// Parts is how many parts EachPart has.
func (s *Selection) Parts() int { return len(s.starts) - 1 }

// eachMorsel calls f for every morsel of rows, in parallel.
func (s *Selection) eachMorsel(par int, f func(m, start, end int)) {
	Parallel(s.n, selectMorsel, par, func(_, start, end int) {
		for ; start < end; start += selectMorsel {
			f(start/selectMorsel, start, min(start+selectMorsel, end))
		}
	})
}

// word returns the kept rows among the 64 from row i, a multiple of 64.
func (s *Selection) word(i int) uint64 { return binary.LittleEndian.Uint64(s.words[i>>3:]) }

// Count returns the number of kept rows.
func (s *Selection) Count() int { return s.starts[len(s.starts)-1] }

// Len returns the number of rows that were selected from.
func (s *Selection) Len() int { return s.n }

// Kept returns the kept rows as a bitmap of Len rows.
func (s *Selection) Kept() Bitmap { return Bitmap{Data: s.words} }

// Nulls returns the validity of the mask where kept rows may be null because
// the mask was, else the absent bitmap.
func (s *Selection) Nulls() Bitmap { return s.mask }

// EmitsNulls reports whether kept rows may be null because the mask was.
func (s *Selection) EmitsNulls() bool { return !s.mask.All() }

// Runs calls f for every longest run of kept rows, in order.
func (s *Selection) Runs(f func(start, n int)) { s.RunsOf(0, s.n, f) }

// RunsOf is Runs for the rows [start, end) of a part.
func (s *Selection) RunsOf(start, end int, f func(start, n int)) {
	from, length := start, 0
	for i := start; i < end; i += 64 {
		for w := s.word(i); w != 0; {
			at, n := nextRun(w)
			w &^= lowBits(n) << uint(at)
			if at += i; at == from+length {
				length += n
				continue
			}
			if length > 0 {
				f(from, length)
			}
			from, length = at, n
		}
	}
	if length > 0 {
		f(from, length)
	}
}

// Values copies the kept rows of src, rows of width bytes, to dst, which has
// room for Count of them and must not overlap src. Rows kept as nulls get
// whatever lies under them.
func (s *Selection) Values(width int, dst, src []byte, par int) {
	switch {
	case width == 1:
		filterValues(s, dst, src, par)
	case width == 2 && aligned(dst, src, 2):
		filterValues(s, as[uint16](dst), as[uint16](src), par)
	case width == 4 && aligned(dst, src, 4):
		filterValues(s, as[uint32](dst), as[uint32](src), par)
	case width == 8 && aligned(dst, src, 8):
		filterValues(s, as[uint64](dst), as[uint64](src), par)
	case width == 16 && aligned(dst, src, 8):
		filterValues(s, as[[2]uint64](dst), as[[2]uint64](src), par)
	default:
		s.eachMorsel(par, func(m, start, end int) {
			at := s.starts[m] * width
			s.RunsOf(start, end, func(from, n int) {
				at += copy(dst[at:], src[from*width:(from+n)*width])
			})
		})
	}
}

// aligned reports whether a and b may be read as words of the given size;
// foreign memory need not be aligned.
func aligned(a, b []byte, size uintptr) bool {
	return (uintptr(unsafe.Pointer(unsafe.SliceData(a)))|uintptr(unsafe.Pointer(unsafe.SliceData(b))))&(size-1) == 0
}

// as views bytes as values. A pointer to a value needs one whole value behind
// it, hence the test.
func as[T any](b []byte) []T {
	n := len(b) / int(unsafe.Sizeof(*new(T)))
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

func filterValues[T any](s *Selection, dst, src []T, par int) {
	if len(s.starts) == 2 {
		filterRows(s, dst[:s.Count()], src, 0, s.n)
		return
	}
	filterMorsels(s, dst, src, par)
}

func filterMorsels[T any](s *Selection, dst, src []T, par int) {
	size := int(unsafe.Sizeof(*new(T)))
	stream := simdStreams(s.Count()*size) && size <= 8
	s.eachMorsel(par, func(m, start, end int) {
		if out := dst[s.starts[m]:s.starts[m+1]]; stream && len(out) > lineBytes && len(out) < end-start {
			streamRows(s, out, src, start, end)
		} else {
			filterRows(s, out, src, start, end)
		}
	})
}

// filterRows copies the kept rows among [start, end) to out, which has room for
// these and may have more: it returns how many there were.
func filterRows[T any](s *Selection, out, src []T, start, end int) int {
	room := len(out)
	if room == end-start {
		return copy(out, src[start:end])
	}
	done, kept := simdCompress(out, src[start:end], s.words[start>>3:])
	out = out[kept:]
	for i := start + done; i < end && len(out) > 0; i += 64 {
		switch w := s.word(i); w {
		case 0:
		case ^uint64(0):
			copy(out[:64], src[i:i+64])
			out = out[64:]
		default:
			out = out[gather(out, src[i:min(i+64, s.n)], w):]
		}
	}
	return room - len(out)
}

const (
	lineBytes = 64
	// stageBytes is what is filtered before it goes past the caches: it stays in the first-level one.
	stageBytes = 1 << 14
)

// stage is where rows lie until they fill lines, with room for the 64 rows
// that kernels want to have left.
type stage [stageBytes + 64*8 + lineBytes]byte

var stages = sync.Pool{New: func() any { return new(stage) }}

// streamRows is filterRows for output that is not read again soon: written
// through the caches it would be read into them first. Lines that out shares
// with other memory are written as usual.
func streamRows[T any](s *Selection, out, src []T, start, end int) {
	buf := stages.Get().(*stage)
	defer stages.Put(buf)
	size := int(unsafe.Sizeof(*new(T)))
	dst := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(out))), len(out)*size)
	staged := as[T](buf[:])
	// The stage holds the line in which dst begins from its start on.
	before := int(uintptr(unsafe.Pointer(unsafe.SliceData(dst))) % lineBytes)
	fill := before / size
	for step := stageBytes / size &^ 63; start < end; start += step {
		stop := min(start+step, end)
		fill += filterRows(s, staged[fill:fill+stop-start+64], src, start, stop)
		whole := fill * size &^ (lineBytes - 1)
		if whole == 0 {
			continue
		}
		lines := buf[:whole]
		if before > 0 {
			n := copy(dst, lines[before:lineBytes])
			dst, lines, before = dst[n:], lines[lineBytes:], 0
		}
		simdStream(dst, lines)
		dst = dst[len(lines):]
		fill = copy(staged, staged[whole/size:fill])
	}
	copy(dst, buf[before:fill*size])
}

// Indices writes the row numbers of the kept rows to dst, which has room for
// Count of them.
func Indices[T Integer](s *Selection, dst []T, par int) {
	s.eachMorsel(par, func(m, start, end int) {
		out := dst[s.starts[m]:s.starts[m+1]]
		for i := start; len(out) > 0; i += 64 {
			w := s.word(i)
			block := out[:bits.OnesCount64(w)]
			for k := range block {
				block[k] = T(i + bits.TrailingZeros64(w))
				w &= w - 1
			}
			out = out[len(block):]
		}
	})
}

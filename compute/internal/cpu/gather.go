package cpu

import "encoding/binary"

// Gather copies row index[i] of src to row i of dst, rows of width bytes, of
// which src has limit. It stops at the first index that is not below limit and
// returns the number of rows done: len(index) if every index is good.
func Gather(width int, dst, src []byte, index []uint64, limit int) (done int) {
	dst, src = dst[:len(index)*width], src[:limit*width]
	switch {
	case width == 1:
		return gatherValues(dst, src, index)
	case width == 2 && aligned(dst, src, 2):
		return gatherValues(as[uint16](dst), as[uint16](src), index)
	case width == 4 && aligned(dst, src, 4):
		return gatherValues(as[uint32](dst), as[uint32](src), index)
	case width == 8 && aligned(dst, src, 8):
		return gatherValues(as[uint64](dst), as[uint64](src), index)
	case width == 16 && aligned(dst, src, 8):
		return gatherValues(as[[2]uint64](dst), as[[2]uint64](src), index)
	case width == 32 && aligned(dst, src, 8):
		return gatherValues(as[[4]uint64](dst), as[[4]uint64](src), index)
	}
	for i, at := range index {
		if at >= uint64(limit) {
			return i
		}
		copy(dst[i*width:(i+1)*width], src[int(at)*width:])
	}
	return len(index)
}

func gatherValues[T any](dst, src []T, index []uint64) (done int) {
	done = simdGather(dst, src, index)
	for dst = dst[:len(index)]; done < len(index); done++ {
		at := index[done]
		if at >= uint64(len(src)) {
			return done
		}
		dst[done] = src[at]
	}
	return done
}

// GatherBits is Gather for the first limit bits of a bitmap; dst starts at bit
// 0. Its bytes are all written where every index is good, and the padding bits
// of the last are zero.
func GatherBits(dst []byte, src Bitmap, index []uint64, limit int) (done int) {
	if src.All() {
		for i, at := range index {
			if at >= uint64(limit) {
				return i
			}
		}
		CopyBits(dst, src, len(index))
		return len(index)
	}
	off := uint64(src.Off)
	for start := 0; start < len(index); start += 64 {
		block := index[start:min(start+64, len(index))]
		var w uint64
		for i, at := range block {
			if at >= uint64(limit) {
				return start + i
			}
			at += off
			w |= uint64(src.Data[at>>3]>>(at&7)&1) << (i & 63)
		}
		if len(block) == 64 {
			binary.LittleEndian.PutUint64(dst[start>>3:], w)
		} else {
			PutWord(dst, start, len(index), w)
		}
	}
	return len(index)
}

// ClearNulls sets the indexes of null rows to 0, for kernels that read
// something for every row.
func ClearNulls(index []uint64, valid Bitmap) {
	for start := 0; start < len(index); start += 64 {
		block := index[start:min(start+64, len(index))]
		w := valid.Word(start, len(index))
		if w == lowBits(len(block)) {
			continue
		}
		for i := range block {
			block[i] &= -(w >> (i & 63) & 1)
		}
	}
}

package msl_test

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"testing"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

var moved = []msl.Type{msl.Bool, msl.U8, msl.U16, msl.U32, msl.U64}

// TestRunCompact filters columns of every width through all three passes.
func TestRunCompact(t *testing.T) {
	d := device(t)
	for _, f := range []msl.Flags{0, msl.ANulls, msl.ANulls | msl.EmitNull, msl.Pending, msl.ANulls | msl.Pending, msl.ANulls | msl.Pending | msl.EmitNull} {
		k := msl.Key{Skeleton: msl.CompactCount, Flags: f}
		name, _, err := msl.Text(k)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			for i, n := range append([]int{2*msl.Tile + 77}, lengths...) {
				for j, share := range []float64{0, 0.02, 0.5, 1} {
					testCompact(t, d, k, n, share, i+j)
				}
			}
		})
	}
}

func testCompact(t *testing.T, d gpu.Device, k msl.Key, n int, share float64, turn int) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(turn)))
	rows := n
	if k.Flags&msl.Pending != 0 {
		rows += []int{0, 3, 50, 9000}[turn%4]
	}
	values := make([]uint64, rows)
	for i, b := range randomBools(r, rows, share) {
		values[i] = truth(b)
	}
	var valid []bool
	if k.Flags&msl.ANulls != 0 {
		valid = randomBools(r, rows, 0.7)
	}
	mask := newColumn(msl.Bool, values, valid, offsets[turn%len(offsets)], offsets[(turn/2+3)%len(offsets)])
	var want []int
	for i := range n {
		if mask.isValid(i) && values[i] != 0 || !mask.isValid(i) && k.Flags&msl.EmitNull != 0 {
			want = append(want, i)
		}
	}

	tiles := int(msl.Groups(k, uint64(rows)))
	count := newArgs(t, d, msl.CountBindings)
	count.in(msl.CountMask, mask.data)
	count.in(msl.CountMaskValid, mask.bits)
	count.in(msl.CountLen, binary.LittleEndian.AppendUint64(nil, uint64(n)))
	count.out(msl.CountSelection, outBytes(msl.Bool, rows))
	count.out(msl.CountCounts, 4*tiles)
	count.params(msl.CountArgs, msl.CountParams{N: uint64(rows), Mask: uint64(mask.off), Valid: uint64(mask.voff)})
	launch(t, d, k, uint64(tiles)+1, count)
	selected := 0
	for _, w := range count.words(msl.CountSelection) {
		selected += bits.OnesCount32(w)
	}
	if selected != len(want) {
		t.Fatalf("%d of %d rows: %d selected, want %d", n, rows, selected, len(want))
	}

	scan := newArgs(t, d, msl.ScanBindings)
	count.words(msl.CountCounts)
	scan.list[msl.ScanCounts] = count.list[msl.CountCounts]
	scan.out(msl.ScanOffsets, 8*tiles)
	scan.out(msl.ScanTotal, 8)
	scan.params(msl.ScanArgs, msl.ScanParams{Tiles: uint32(tiles)})
	launch(t, d, msl.Key{Skeleton: msl.CompactScan}, 2, scan)
	if total := binary.LittleEndian.Uint64(scan.bytes(msl.ScanTotal)); total != uint64(len(want)) {
		t.Fatalf("total is %d, want %d", total, len(want))
	}

	typ := moved[turn%len(moved)]
	data := make([]uint64, rows)
	for i := range data {
		data[i] = r.Uint64() >> (64 - elementBits(typ))
	}
	in := newColumn(typ, data, nil, offsets[(turn+1)%len(offsets)], 0)
	scatter := newArgs(t, d, msl.ScatterBindings)
	scatter.in(msl.ScatterIn, in.data)
	scatter.list[msl.ScatterSelection] = count.list[msl.CountSelection]
	scatter.list[msl.ScatterOffsets] = scan.list[msl.ScanOffsets]
	scatter.out(msl.ScatterOut, outBytes(typ, len(want)))
	if typ == msl.Bool {
		clear(scatter.bytes(msl.ScatterOut))
	}
	scatter.params(msl.ScatterArgs, msl.ScatterParams{N: uint64(rows), Off: uint64(in.off)})
	launch(t, d, msl.Key{Skeleton: msl.CompactScatter, In: typ}, uint64(tiles)+1, scatter)
	for i, got := range unpack(t, typ, scatter.bytes(msl.ScatterOut), len(want)) {
		if got != data[want[i]] {
			t.Fatalf("%s: element %d is %#x, want row %d, %#x", typ, i, got, want[i], data[want[i]])
		}
	}
}

func elementBits(t msl.Type) int {
	if t == msl.Bool {
		return 1
	}
	return bitsOf(t)
}

// TestRunScan scans more tiles than there are threads, with sums beyond 32 bits.
func TestRunScan(t *testing.T) {
	d := device(t)
	for _, tiles := range []int{0, 1, 255, 256, 257, 1000} {
		counts := make([]byte, 4*tiles)
		for i := range tiles {
			binary.LittleEndian.PutUint32(counts[4*i:], 0xfff00000+uint32(i))
		}
		args := newArgs(t, d, msl.ScanBindings)
		args.in(msl.ScanCounts, counts)
		args.out(msl.ScanOffsets, 8*tiles)
		args.out(msl.ScanTotal, 8)
		args.params(msl.ScanArgs, msl.ScanParams{Tiles: uint32(tiles)})
		launch(t, d, msl.Key{Skeleton: msl.CompactScan}, 1, args)
		offsets, sum := args.bytes(msl.ScanOffsets), uint64(0)
		for i := range tiles {
			if got := binary.LittleEndian.Uint64(offsets[8*i:]); got != sum {
				t.Fatalf("%d tiles: offset %d is %d, want %d", tiles, i, got, sum)
			}
			sum += 0xfff00000 + uint64(i)
		}
		if got := binary.LittleEndian.Uint64(args.bytes(msl.ScanTotal)); got != sum {
			t.Fatalf("%d tiles: total %d, want %d", tiles, got, sum)
		}
	}
}

// TestRunGather gathers every width by every index type; flags, lengths and offsets take turns.
func TestRunGather(t *testing.T) {
	d := device(t)
	turn := 0
	for index := msl.I8; index <= msl.U64; index++ {
		for _, out := range moved {
			turn++
			for i, n := range lengths {
				if i%3 != turn%3 {
					continue
				}
				k := msl.Key{Skeleton: msl.Gather, In: index, Out: out, Flags: []msl.Flags{
					0, msl.ANulls, msl.BNulls, msl.ANulls | msl.BNulls, msl.ANulls | msl.BNulls | msl.Pending}[turn%5]}
				t.Run(fmt.Sprintf("%s/%s/%d", index, out, n), func(t *testing.T) {
					testGather(t, d, k, n, turn+i, false)
					testGather(t, d, k, n, turn+i, true)
				})
			}
		}
	}
}

// testGather makes some indexes of valid rows wrong if wrong is set; those of null rows may always be.
func testGather(t *testing.T, d gpu.Device, k msl.Key, n, turn int, wrong bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), uint64(turn)))
	rows := n
	if k.Flags&msl.Pending != 0 {
		rows += 40
	}
	length := 1 + r.IntN(100)
	dict := make([]uint64, length)
	for i := range dict {
		dict[i] = r.Uint64() >> (64 - elementBits(k.Out))
	}
	var dictValid, valid []bool
	if k.Flags&msl.BNulls != 0 {
		dictValid = randomBools(r, length, 0.7)
	}
	if k.Flags&msl.ANulls != 0 {
		valid = randomBools(r, rows, 0.7)
	}
	index := make([]uint64, rows)
	var bad uint32
	for i := range index {
		index[i] = uint64(r.IntN(length))
		isValid := valid == nil || valid[i]
		if !isValid || wrong && r.IntN(10) == 0 {
			index[i] = [...]uint64{uint64(length), ^uint64(0) >> (64 - bitsOf(k.In))}[r.IntN(2)]
			if isValid && i < n {
				bad = msl.ErrIndex
			}
		}
	}
	a := newColumn(k.In, index, valid, offsets[turn%6], offsets[(turn+2)%6])
	b := newColumn(k.Out, dict, dictValid, offsets[(turn+3)%6], offsets[(turn+4)%6])
	args := newArgs(t, d, msl.GatherBindings)
	args.in(msl.GatherIndex, a.data)
	args.in(msl.GatherValid, a.bits)
	args.in(msl.GatherDict, b.data)
	args.in(msl.GatherDictValid, b.bits)
	args.in(msl.GatherErr, nil)
	args.in(msl.GatherLen, binary.LittleEndian.AppendUint64(nil, uint64(n)))
	args.out(msl.GatherOut, outBytes(k.Out, rows))
	if msl.HasOutValid(k) {
		args.out(msl.GatherOutValid, outBytes(msl.Bool, rows))
	}
	args.params(msl.GatherArgs, msl.GatherParams{N: uint64(rows), Off: uint64(a.off), Valid: uint64(a.voff),
		Dict: uint64(b.off), DictValid: uint64(b.voff), DictLen: uint64(length)})
	launch(t, d, k, msl.Groups(k, uint64(rows)), args)

	if got := binary.LittleEndian.Uint32(args.list[msl.GatherErr].Buf.Host()); got != bad {
		t.Fatalf("error bits %#x, want %#x", got, bad)
	}
	var outValid []uint64
	if msl.HasOutValid(k) {
		outValid = unpack(t, msl.Bool, args.bytes(msl.GatherOutValid), rows)
	}
	for i, got := range unpack(t, k.Out, args.bytes(msl.GatherOut), rows) {
		var want uint64
		ok := i < n && a.isValid(i) && index[i] < uint64(length)
		if ok {
			want = dict[index[i]]
		}
		if got != want {
			t.Fatalf("row %d of %d: %#x, want %#x", i, n, got, want)
		}
		if outValid != nil && outValid[i] != truth(ok && b.isValid(int(index[i]))) {
			t.Fatalf("row %d of %d: valid is %d", i, n, outValid[i])
		}
	}
}

func TestRunFill(t *testing.T) {
	d := device(t)
	k := msl.Key{Skeleton: msl.Fill}
	for _, n := range []int{1, 255, 2048, 2049, 5000} {
		args := newArgs(t, d, msl.FillBindings)
		args.out(msl.FillOut, 4*n)
		args.params(msl.FillArgs, msl.FillParams{Words: uint64(n), Value: 0xcafe})
		launch(t, d, k, msl.Groups(k, uint64(n))+1, args)
		for i, w := range args.words(msl.FillOut) {
			if w != 0xcafe {
				t.Fatalf("word %d of %d is %#x", i, n, w)
			}
		}
	}
}

//go:build linux && (amd64 || arm64) && !noemulator

package msl_test

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// TestRunCumulate sums columns of two chunks in three passes on the emulator, and in one on its profile with forward
// progress.
func TestRunCumulate(t *testing.T) {
	plain := device(t)
	wideDev, wide := wideDevice(t)
	turn := 0
	for typ := msl.I8; typ <= msl.U64; typ++ {
		for _, op := range []string{msl.OpCumulativeSum, msl.OpCumulativeSumChecked} {
			t.Run(op+"_"+typ.String(), func(t *testing.T) {
				for _, n := range []int{1, 33, 1025, 2*msl.LookbackRows + 77, 35*msl.LookbackRows - 5} {
					if n > 5*msl.LookbackRows && (typ != msl.I64 || op == msl.OpCumulativeSum) {
						continue // more tiles than one look back sees
					}
					for range 2 {
						turn++
						c := newCumulation(op, typ, n, turn)
						c.check(t, plain, func(k msl.Key) gpu.Pipeline { return pipeline(t, plain, k) }, false)
						c.check(t, wideDev, wide, true)
					}
				}
			})
		}
	}
}

// cumulation is a case: chunks, options and the answer.
type cumulation struct {
	op     string
	typ    msl.Type
	start  uint64
	stops  bool
	extra  int // rows that a pending length leaves out
	chunks []*column
	want   []uint64
	valid  []bool
	fails  bool
}

func newCumulation(op string, typ msl.Type, n, turn int) *cumulation {
	r := rand.New(rand.NewPCG(uint64(turn), 9))
	c := &cumulation{op: op, typ: typ, stops: turn%3 == 0, extra: []int{0, 0, 40, 9000}[turn%4], start: uint64(r.IntN(100))}
	mild := turn%2 == 0 // small values, so that wider types do not overflow
	sum, ended := number(typ, c.start), false
	for i, rows := range []int{n, n/3 + 1} {
		values := make([]uint64, rows)
		var valid []bool
		if (turn+i)%2 == 0 {
			// with few nulls, so that a sum that stops at one has rows before
			valid = randomBools(r, rows, []float64{0.7, 0.999, 1}[turn%3])
		}
		for k := range values {
			values[k] = r.Uint64() >> (64 - bitsOf(typ))
			if mild {
				values[k] = uint64(r.IntN(3))
			}
		}
		c.chunks = append(c.chunks, newColumn(typ, values, valid, offsets[turn%len(offsets)], offsets[(turn/2+i)%len(offsets)]))
		for k, v := range values {
			ok := valid == nil || valid[k]
			ended = ended || c.stops && !ok
			ok = ok && !ended
			if ok {
				next := new(big.Int).Add(sum, number(typ, v))
				low, overflow := fit(typ, next)
				c.fails = c.fails || overflow
				sum = number(typ, low)
			}
			low, _ := fit(typ, sum)
			c.want, c.valid = append(c.want, low), append(c.valid, ok)
		}
	}
	return c
}

// check runs the case on a device.
func (c *cumulation) check(t *testing.T, d gpu.Device, pipe func(msl.Key) gpu.Pipeline, lookback bool) {
	t.Helper()
	run := func(k msl.Key, groups uint64, a *args) { launchOn(t, d, pipe(k), groups, a) }
	states := newArgs(t, d, 4)
	carries := []int{0, 1, 2}
	for _, i := range carries {
		states.out(i, 8*msl.CumulateStates)
	}
	row, failed := 0, false
	for i, chunk := range c.chunks {
		n := len(chunk.values)
		k := msl.Key{Skeleton: msl.CumulateApply, Op: c.op, In: c.typ}
		p := msl.CumulateParams{N: uint64(n + c.extra), Off: uint64(chunk.off), Valid: uint64(chunk.voff), GoesOn: uint32(i)}
		p.Start = signExtended(c.typ, c.start)
		p.Stops = uint32(truth(c.stops))
		if lookback {
			k.Skeleton = msl.CumulateLookback
		}
		p.Tiles = uint32(msl.Groups(k, p.N))
		a := newArgs(t, d, msl.CumulateBindings)
		a.in(msl.CumulateIn, chunk.data)
		if chunk.valid != nil {
			k.Flags |= msl.ANulls
			a.in(msl.CumulateValid, chunk.bits)
			a.out(msl.CumulateOutValid, outBytes(msl.Bool, n+c.extra))
		}
		if c.extra > 0 {
			k.Flags |= msl.Pending
			a.in(msl.CumulateLen, binary.LittleEndian.AppendUint64(nil, uint64(n)))
		}
		if c.op == msl.OpCumulativeSumChecked {
			a.in(msl.CumulateErr, nil)
		}
		a.out(msl.CumulateOut, outBytes(c.typ, n+c.extra))
		a.out(msl.CumulateStatesAt, 8*(msl.CumulateStates*int(p.Tiles)+1))
		a.list[msl.CumulateCarry], a.list[msl.CumulateNext] = states.list[i], states.list[i+1]
		a.params(msl.CumulateArgs, p)
		groups := msl.Groups(k, p.N) + 1 // one more than needed, which must do nothing
		if lookback {
			clear(a.bytes(msl.CumulateStatesAt))
			run(k, groups, a)
		} else {
			reduce := k
			reduce.Skeleton, reduce.Op = msl.CumulateReduce, ""
			run(reduce, groups, a)
			run(msl.Key{Skeleton: msl.CumulateScan}, 2, a)
			run(k, groups, a)
		}
		a.bytes(msl.CumulateStatesAt)
		if c.op == msl.OpCumulativeSumChecked {
			failed = failed || binary.LittleEndian.Uint32(a.list[msl.CumulateErr].Buf.Host()) == msl.ErrOverflow
		}
		var valid []uint64
		if chunk.valid != nil {
			valid = unpack(t, msl.Bool, a.bytes(msl.CumulateOutValid), n+c.extra)
		}
		for j, got := range unpack(t, c.typ, a.bytes(msl.CumulateOut), n+c.extra) {
			if j >= n {
				if got != 0 || valid != nil && valid[j] != 0 {
					t.Fatalf("chunk %d, row %d is not there and gives %#x", i, j, got)
				}
				continue
			}
			if valid != nil && valid[j] != truth(c.valid[row+j]) {
				t.Fatalf("chunk %d of %d, row %d: valid is %d, look-back %v", i, n, j, valid[j], lookback)
			}
			if c.valid[row+j] && got != c.want[row+j] {
				t.Fatalf("chunk %d of %d, row %d: %#x, want %#x, look-back %v, %+v", i, n, j, got, c.want[row+j], lookback, p)
			}
		}
		row += n
	}
	if ended := binary.LittleEndian.Uint64(states.bytes(len(c.chunks))[8:]); c.stops && (ended != 0) != !c.valid[row-1] {
		t.Fatalf("a null came before: %d", ended)
	}
	if failed != (c.fails && c.op == msl.OpCumulativeSumChecked) {
		t.Fatalf("overflow is %v, want %v, look-back %v", failed, c.fails, lookback)
	}
}

// signExtended is an element's value in 64 bits.
func signExtended(t msl.Type, v uint64) uint64 {
	low, _ := fit(msl.I64, number(t, v))
	return low
}

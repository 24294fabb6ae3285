package record

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/gpu"
)

func TestFold(t *testing.T) {
	for groups, want := range map[int][2]uintptr{
		1: {1, 1}, 65535: {65535, 1}, 65536: {65536, 1}, 65537: {65536, 2}, 1 << 24: {65536, 256},
		1<<31 + 1: {65536, 32769}, 65536 * 65535: {65536, 65535},
	} {
		x, y := Fold(groups)
		require.Equal(t, want, [2]uintptr{x, y}, "%d groups", groups)
	}
}

type (
	testDevice struct{ _ int }
	testObject struct {
		Life
		dev   *testDevice
		freed int
	}
	testBuffer   struct{ testObject }
	testPipeline struct{ testObject }
	testCommands = Commands[*testDevice, *testPipeline, *testBuffer]
)

func (o *testObject) Owner() *testDevice { return o.dev }
func (*testBuffer) Host() []byte         { return nil }
func (*testBuffer) Len() int             { return 64 }
func (*testPipeline) Name() string       { return "kernel" }
func (*testPipeline) MaxThreads() int    { return 32 }

func (o *testObject) begin(d *testDevice) {
	o.dev = d
	o.Begin(func() { o.freed++ })
}

// Whatever a recording refuses, and however it ends, what it named is freed once, after its owner and it let go.
func TestRecordingLetsGo(t *testing.T) {
	mine, other := new(testDevice), new(testDevice)
	driver := Driver[*testDevice, *testPipeline, *testBuffer]{Name: "test", MaxGroups: 100}
	for name, row := range map[string]struct {
		add func(c *testCommands, p *testPipeline, a, b, foreign *testBuffer)
		err string
	}{
		"fine": {func(c *testCommands, p *testPipeline, a, b, foreign *testBuffer) {
			c.Dispatch(p, 1, 32, []gpu.Arg{{Buf: a}, {}, {Bytes: []byte{1}}})
			c.Barrier()
			c.Copy(b, 0, a, 0, 64)
		}, ""},
		"argument of another device": {func(c *testCommands, p *testPipeline, a, b, foreign *testBuffer) {
			c.Dispatch(p, 1, 32, []gpu.Arg{{Buf: a}, {Buf: foreign}})
		}, "test: dispatch of kernel: argument 1: the buffer (*record.testBuffer) is of another device"},
		"argument past the end": {func(c *testCommands, p *testPipeline, a, b, foreign *testBuffer) {
			c.Dispatch(p, 1, 32, []gpu.Arg{{Buf: a, Off: 64}})
		}, "test: dispatch of kernel: argument 0: offset 64 in a buffer of 64 bytes"},
		"too many threadgroups": {func(c *testCommands, p *testPipeline, a, b, foreign *testBuffer) {
			c.Dispatch(p, 101, 32, nil)
		}, "test: dispatch of kernel: 101 threadgroups, not 0 to 100"},
		"copy from another device": {func(c *testCommands, p *testPipeline, a, b, foreign *testBuffer) {
			c.Copy(a, 0, foreign, 0, 1)
		}, "test: copy: source: the buffer (*record.testBuffer) is of another device"},
		"the first error stays": {func(c *testCommands, p *testPipeline, a, b, foreign *testBuffer) {
			c.Copy(a, 0, a, 32, 33)
			c.Dispatch(p, -1, 0, nil)
		}, "test: copy: 33 bytes from 32 of 64 to 0 of 64"},
	} {
		for _, discard := range []bool{false, true} {
			p, a, b, foreign := new(testPipeline), new(testBuffer), new(testBuffer), new(testBuffer)
			objects := []*testObject{&p.testObject, &a.testObject, &b.testObject, &foreign.testObject}
			for _, o := range objects {
				o.begin(mine)
			}
			foreign.dev = other
			c, kept := driver.Begin(mine), 0
			c.Retain(p, func() { kept++ })
			row.add(&c, p, a, b, foreign)
			for _, o := range objects {
				o.Release()
				o.Release()
			}
			if discard {
				c.Discard()
			} else {
				r, err := c.Take()
				require.NoError(t, err)
				if row.err == "" {
					require.NoError(t, r.Err(), name)
					require.True(t, r.HasWork())
					require.Equal(t, []int{0, 0, 0, 1}, []int{p.freed, a.freed, b.freed, foreign.freed}, "freed in use")
				} else {
					require.EqualError(t, r.Err(), row.err, name)
				}
				r.GiveBack()
			}
			require.Equal(t, 1, kept, name)
			for _, o := range objects {
				require.Equal(t, 1, o.freed, name)
				require.False(t, o.Hold(), "held after its end")
			}
			_, err := c.Take()
			require.True(t, errors.Is(err, errSpent), name)
		}
	}
}

package compute

import (
	"maps"
	"testing"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

func TestParseCrossovers(t *testing.T) {
	for _, c := range []struct {
		text string
		want map[string]int64
		bad  bool
	}{
		{"", nil, false},
		{"0", map[string]int64{"": 0}, false},
		{"never", map[string]int64{"": Never}, false},
		{"sum=100000,filter=never", map[string]int64{"sum": 100000, "filter": Never}, false},
		{" 5, add=7 ", map[string]int64{"": 5, "add": 7}, false},
		{"sum=1,sum=2", map[string]int64{"sum": 2}, false},
		{"nonsense=1,sum=3", map[string]int64{"sum": 3}, true},
		{"sum=-1", nil, true},
		{"sum=", nil, true},
		{"=", nil, true},
		{"sum=1e6", nil, true},
		{"99999999999999999999", nil, true},
		{"-5", nil, true},
	} {
		got := map[string]int64{}
		err := parseCrossovers(c.text, func(f string, rows int64) { got[f] = rows })
		if (err != nil) != c.bad || !maps.Equal(got, c.want) {
			t.Errorf("%q: got %v, %v", c.text, got, err)
		}
	}
}

// Narrow values need more rows for the same bytes; foreign memory never pays by default; bits count by themselves.
func TestShippedCrossovers(t *testing.T) {
	nothingSet(t)
	at := func(class crossClass, in msl.Type, p Place) int64 {
		rows, _ := crossoverOf("", &gpu.Info{Driver: "metal"}, class, in, p)
		return rows
	}
	for _, class := range []crossClass{crossMap, crossCompare, crossReduce, crossFilter} {
		wide := at(class, msl.I64, HostMemory)
		for in, times := range map[msl.Type]int64{msl.F64: 1, msl.F32: 2, msl.I16: 4, msl.U8: 8} {
			if got := at(class, in, HostMemory); got != wide*times {
				t.Errorf("class %d, type %v: %d rows, want %d", class, in, got, wide*times)
			}
		}
		if got := at(class, msl.I64, ForeignMemory); got != Never {
			t.Errorf("class %d in foreign memory: %d rows", class, got)
		}
	}
	if a, b := at(crossBits, msl.Bool, HostMemory), at(crossBits, msl.U8, HostMemory); a != b {
		t.Errorf("bits: %d and %d rows", a, b)
	}
	if rows, from := crossoverOf("sum", &gpu.Info{Driver: "emulator", Name: "none"}, crossReduce, msl.I64, HostMemory); rows != Never || from != "default for emulator" {
		t.Errorf("emulator: %d, %s", rows, from)
	}
}

// nothingSet hides the crossovers that the environment or other tests set.
func nothingSet(t *testing.T) {
	loadEnv()
	was := set.Swap(nil)
	t.Cleanup(func() { set.Store(was) })
}

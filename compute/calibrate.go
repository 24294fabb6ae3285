package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/memory"
)

// calibration is what was measured on a device: per class and place, rows of 8 bytes.
type calibration [crossTake + 1][ForeignMemory + 1]int64

// calibrations are those of this process's devices, read from the user's cache folder at first use.
var calibrations sync.Map // deviceName -> *calibrationOnce

type deviceName struct{ driver, name string }

type calibrationOnce struct {
	once  sync.Once
	value atomic.Pointer[calibration]
}

func calibrationOf(dev *gpu.Info) *calibrationOnce {
	k := deviceName{dev.Driver, dev.Name}
	if c, ok := calibrations.Load(k); ok {
		return c.(*calibrationOnce)
	}
	c, _ := calibrations.LoadOrStore(k, new(calibrationOnce))
	return c.(*calibrationOnce)
}

// measuredOn is what was measured on a device, nil for nothing.
func measuredOn(dev *gpu.Info) *calibration {
	c := calibrationOf(dev)
	c.once.Do(func() {
		if m, err := readCalibration(dev); err == nil {
			c.value.Store(m)
		}
	})
	return c.value.Load()
}

// calibrationFile is the content of a stored calibration; the names guard against another device's.
type calibrationFile struct {
	Driver, Device string
	Rows           calibration
}

// userCacheDir is where calibrations are kept.
var userCacheDir = os.UserCacheDir

func calibrationPath(dev *gpu.Info) (string, error) {
	dir, err := userCacheDir()
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%s", dev.Driver, dev.Name)
	return filepath.Join(dir, "broadhead", "crossovers", fmt.Sprintf("%s-%016x.json", dev.Driver, h.Sum64())), nil
}

func readCalibration(dev *gpu.Info) (*calibration, error) {
	path, err := calibrationPath(dev)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var f calibrationFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if f.Driver != dev.Driver || f.Device != dev.Name {
		return nil, fmt.Errorf("compute: %s is of another device", path)
	}
	for _, row := range f.Rows {
		if slices.Min(row[:]) < 0 {
			return nil, fmt.Errorf("compute: %s holds a negative crossover", path)
		}
	}
	return &f.Rows, nil
}

func writeCalibration(dev *gpu.Info, m *calibration) error {
	path, err := calibrationPath(dev)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	text, err := json.MarshalIndent(calibrationFile{dev.Driver, dev.Name, *m}, "", "  ")
	if err != nil {
		return err
	}
	tmp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(tmp, text, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}

// Calibrate measures from how many rows on the context's device wins on this machine, uses that from then on in this
// process, and stores it in the user's cache folder for later ones. It takes some seconds and wants an idle machine.
// The crossovers in force are returned; those that SetCrossover or BROADHEAD_CROSSOVER set stay in force. Errors are
// gpu.ErrNoDevice where there is no device, ctx's, and those of the folder.
func Calibrate(ctx context.Context) ([]Crossover, error) {
	dev, err := deviceOf(ctx)
	if err != nil {
		return nil, err
	}
	info := dev.Info()
	m := new(calibration)
	for class := range m {
		for place := range m[class] {
			rows, err := measureCrossover(WithDevice(ctx, dev), dev, crossClass(class), Place(place))
			if err != nil {
				return nil, err
			}
			m[class][place] = rows
		}
	}
	c := calibrationOf(&info)
	c.once.Do(func() {})
	c.value.Store(m)
	return Crossovers(info), writeCalibration(&info, m)
}

// ForgetCalibration deletes what Calibrate stored for a device.
func ForgetCalibration(dev gpu.Device) error {
	info := dev.Info()
	c := calibrationOf(&info)
	c.once.Do(func() {})
	c.value.Store(nil)
	path, err := calibrationPath(&info)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// representatives are the calls that stand for their class.
var representatives = map[crossClass]string{
	crossMap: "add_unchecked", crossCompare: "greater", crossBits: "and", crossReduce: "sum", crossFilter: "filter",
	crossTake: "take",
}

// calibrateRows are the sizes tried, the largest first: the search ends at the first that the device loses.
var calibrateRows = []int{1 << 23, 1 << 21, 1 << 19, 1 << 17, 1 << 15, 1 << 13, 1 << 11}

// measureCrossover finds the smallest size tried from which the device wins at every larger one.
func measureCrossover(ctx context.Context, dev gpu.Device, class crossClass, place Place) (int64, error) {
	rows := Never
	e := engineOf(dev)
	mem := arrowmem.Allocator(memory.New(dev))
	if place == ForeignMemory {
		mem = arrowmem.DefaultAllocator
	}
	numbers := calibrationColumn(mem, calibrateRows[0], false)
	defer numbers.Release()
	bits := calibrationColumn(mem, calibrateRows[0], true)
	defer bits.Release()
	if place == DeviceMemory {
		for _, a := range []arrow.Array{numbers, bits} {
			c, err := ToDevice(ctx, a)
			if err != nil {
				return Never, err
			}
			defer c.Release()
		}
	}
	for _, n := range calibrateRows {
		args := calibrationArgs(class, numbers, bits, n)
		c, err := functions[representatives[class]].(*function).resolve(nil, typesOf(asArrayLike(args)...))
		if err != nil {
			return Never, err
		}
		ctx := WithAllocator(ctx, mem)
		onDevice, err := timeOf5(ctx, func() (Datum, error) { return e.run(ctx, c, args) })
		if err == nil {
			var onCPU time.Duration
			onCPU, err = timeOf5(ctx, func() (Datum, error) { return c.cpu(ctx, args) })
			if err == nil && onDevice >= onCPU {
				releaseAll(args)
				return rows, nil
			}
		}
		releaseAll(args)
		if err != nil {
			return Never, err
		}
		rows = int64(n)
	}
	return rows, nil
}

func asArrayLike(args []Datum) []ArrayLikeDatum {
	out := make([]ArrayLikeDatum, len(args))
	for i, a := range args {
		out[i] = a.(ArrayLikeDatum)
	}
	return out
}

func calibrationArgs(class crossClass, numbers, bits arrow.Array, n int) []Datum {
	slice := func(a arrow.Array) Datum {
		s := array.NewSlice(a, 0, int64(n))
		defer s.Release()
		return NewDatum(s)
	}
	switch class {
	case crossBits:
		return []Datum{slice(bits), slice(bits)}
	case crossReduce:
		return []Datum{slice(numbers)}
	case crossFilter:
		return []Datum{slice(numbers), slice(bits)}
	case crossTake:
		return []Datum{NewDatum(numbers), slice(numbers)} // all below the number of rows
	}
	return []Datum{slice(numbers), slice(numbers)}
}

func calibrationColumn(mem arrowmem.Allocator, n int, bits bool) arrow.Array {
	if bits {
		b := array.NewBooleanBuilder(mem)
		defer b.Release()
		b.Reserve(n)
		for i := range n {
			b.UnsafeAppend(i*7919%13 < 6)
		}
		return b.NewArray()
	}
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.Reserve(n)
	for i := range n {
		b.UnsafeAppend(int64(i * 7919 % min(n, 100_003)))
	}
	return b.NewArray()
}

// timeOf5 is the median time of five runs after one to warm up.
func timeOf5(ctx context.Context, f func() (Datum, error)) (time.Duration, error) {
	var times [5]time.Duration
	for i := -1; i < len(times); i++ {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		began := time.Now()
		d, err := f()
		if err != nil {
			return 0, err
		}
		if i >= 0 {
			times[i] = time.Since(began)
		}
		d.Release()
	}
	slices.Sort(times[:])
	return times[2], nil
}

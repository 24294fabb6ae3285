package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/memory"
)

// choose decides where a call runs: the engine is nil where the CPU does. It fills in a Decision if one is given.
func (c *call) choose(ctx context.Context, args []Datum, d *Decision) *engine {
	if d != nil {
		if e, w := c.worker(ctx, args); w != nil {
			from, _ := c.workerRows()
			*d = Decision{Function: c.fn.name, Device: e.info.Driver, Rows: rowsOf(args), Crossover: from, Place: DeviceMemory,
				Reason: fmt.Sprintf("%d rows in device memory are the resident worker's", rowsOf(args))}
			return e
		}
	}
	e, v := c.weigh(ctx, args)
	if d != nil {
		d.Function, d.Device, d.Rows, d.Crossover, d.Place = c.fn.name, cpuName, v.rows, v.crossover, v.place
		d.Reason = v.reason()
		if e != nil {
			d.Device = e.info.Driver
			if a, ok := GetAllocator(ctx).(*memory.Allocator); !ok || a.Device() != e.dev {
				d.Reason += "; results are copied: not in GPU memory"
			}
			d.Reason += countersOf(c.fn.name, e.info.Driver).history(c.fn.name)
		}
	}
	return e
}

// verdict is what choose went by.
type verdict struct {
	rows, crossover int64
	place           Place
	from            string // where the crossover comes from
	err             error  // why no device is used, whatever the rows
	why             string // the same in words
}

func (v *verdict) reason() string {
	switch {
	case v.err != nil:
		return v.err.Error()
	case v.why != "":
		return v.why
	case v.rows >= v.crossover:
		return fmt.Sprintf("%d rows %s, crossover %d (%s)", v.rows, v.place, v.crossover, v.from)
	case v.crossover == Never:
		return fmt.Sprintf("the GPU never wins %s (%s)", v.place, v.from)
	}
	return fmt.Sprintf("%d rows are below the crossover of %d %s (%s)", v.rows, v.crossover, v.place, v.from)
}

func (c *call) weigh(ctx context.Context, args []Datum) (*engine, verdict) {
	v := verdict{rows: c.rows(args), crossover: Never}
	dev, err := deviceOf(ctx)
	switch {
	case err != nil:
		v.err = err
	case c.gpu == nil || c.shares:
		v.why = c.noGPU
	case v.rows == 0:
		v.why = "no rows"
	case c.admit.validity && !haveValidity(args[0]):
		v.why = "no validity bitmap to read"
	case c.rowsOnly && !haveValidity(args[0]):
		v.why = "no validity bitmap to count"
	case c.arraysOnly && args[0].Kind() == KindScalar:
		v.why = "a scalar is left to the CPU"
	case c.admit.op == "filter" && (args[0].Kind() == KindScalar || args[1].Kind() == KindScalar):
		v.why = "scalars are not filtered on a device"
	case c.cross == crossTake && !oneChunk(args[0]):
		v.why = errManyChunks.Error()
	}
	if v.err != nil || v.why != "" {
		return nil, v
	}
	e := engineOf(dev)
	v.place = DeviceMemory
	if v.crossover, v.from = crossoverOf(c.fn.name, &e.info, c.cross, c.in, DeviceMemory); v.rows < v.crossover {
		return nil, v
	}
	if v.place = e.placeOf(args); v.place != DeviceMemory {
		if v.crossover, v.from = crossoverOf(c.fn.name, &e.info, c.cross, c.in, v.place); v.rows < v.crossover {
			return nil, v
		}
	}
	if v.err = e.usable(); v.err == nil {
		v.err = e.refused(c.admitKeyFor(args))
	}
	if v.err != nil {
		return nil, v
	}
	return e, v
}

// haveValidity says whether every chunk has a validity bitmap, for kernels that read nothing else.
func haveValidity(d Datum) bool {
	if a, ok := d.(*ac.ArrayDatum); ok {
		return hasValidity(a.Value)
	}
	chunks := chunksOf(d)
	for _, c := range chunks {
		if !hasValidity(c) {
			return false
		}
	}
	return len(chunks) > 0
}

// hasValidity says whether array data has nulls in a validity bitmap.
func hasValidity(d arrow.ArrayData) bool {
	b := d.Buffers()
	return d.NullN() != 0 && len(b) > 0 && b[0] != nil && b[0].Len() > 0
}

func typesOf(args ...ArrayLikeDatum) []arrow.DataType {
	out := make([]arrow.DataType, len(args))
	for i, a := range args {
		out[i] = a.Type()
	}
	return out
}

// refused is the reason why admission turned a call away, if it did.
func (e *engine) refused(k admitKey) error {
	if verdict, known := e.admitted.Known(k); known && verdict != nil {
		return fmt.Errorf("kernel failed its admission: %w", verdict)
	}
	return nil
}

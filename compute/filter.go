package compute

import (
	"context"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute/internal/selection"
	"github.com/broadhead-go/broadhead/gpu"
	"github.com/broadhead-go/broadhead/msl"
)

// filterFunction filters arrays, chunked arrays, record batches and tables.
func filterFunction() *function {
	return &function{
		kind: ac.FuncVector, arity: Arity{NArgs: 2}, opts: ac.DefaultFilterOptions(),
		check:   checkFilter,
		resolve: resolveFilter,
		tables:  filterTables,
	}
}

// checkFilter refuses a scalar beside an array. Two scalars pass, as in arrow-go.
func checkFilter(args []Datum) error {
	values, mask := args[0].Kind() == ac.KindScalar, args[1].Kind() == ac.KindScalar
	if values != mask {
		return errMaskScalar
	}
	return nil
}

// movedAs is the element type that a device moves values of type t as; NoType where it cannot.
func movedAs(t arrow.DataType) msl.Type {
	switch w := selection.Width(t); {
	case w == 0:
		return msl.Bool
	case w > 0 && w < len(byWidth):
		return byWidth[w]
	}
	return msl.NoType
}

func resolveFilter(opts FunctionOptions, in []arrow.DataType) (*call, error) {
	o, err := optionsOf("filter", opts, ac.DefaultFilterOptions)
	if err != nil {
		return nil, err
	}
	if s := o.NullSelection; s != ac.SelectionDropNulls && s != ac.SelectionEmitNulls {
		return nil, fmt.Errorf("%w: filter has no null selection %d", arrow.ErrInvalid, s)
	}
	if in[1].ID() != arrow.BOOL {
		return nil, fmt.Errorf("%w: filter argument must be boolean type, got %s", arrow.ErrNotImplemented, in[1])
	}
	emit, kernel := o.NullSelection == ac.SelectionEmitNulls, movedAs(in[0])
	c := &call{
		out: in[0], in: kernel, ins: [maxArgs]msl.Type{kernel, msl.Bool}, cross: crossFilter,
		admit: admitKey{op: "filter", in: kernel, emit: emit},
		nulls: func(args []bool) bool { return args[0] || emit && args[1] },
		cpu: func(ctx context.Context, args []Datum) (Datum, error) {
			return filterDatum(ctx, args[0], args[1], emit)
		},
	}
	if kernel == msl.NoType {
		c.noGPU = fmt.Sprintf("no GPU kernel for %s", in[0])
		return c, nil
	}
	c.gpu = func(r *recorder, args []*value) (*value, error) {
		return recordFilter(r, args[0], args[1], kernel, emit)
	}
	if storage(in[0]) != msl.NoType && storage(in[0]) != msl.Bool {
		c.work = workerCall{op: gpu.WorkerFilter, typ: kernel, out: in[0]}
	}
	return c, nil
}

var errMaskScalar = fmt.Errorf("%w: filter should be array-like", arrow.ErrNotImplemented)

// lanes cuts values and mask into runs, values as columns of raw bytes.
func lanes(values, mask Datum) ([]lane, form, error) {
	fv, _ := formOf(values)
	fm, _ := formOf(mask)
	if values.Len() != mask.Len() {
		return nil, 0, fmt.Errorf("%w: filter inputs must all be the same length, got %d and %d",
			arrow.ErrInvalid, values.Len(), mask.Len())
	}
	vs, ms := chunksOf(values), chunksOf(mask)
	f := max(fv, fm)
	var out []lane
	for v, m, i, k := 0, 0, 0, 0; v < len(vs) && m < len(ms); {
		n := min(vs[v].Len()-i, ms[m].Len()-k)
		if n > 0 {
			out = append(out, lane{vs[v], ms[m], i, k, n})
		}
		if i += n; i == vs[v].Len() {
			v, i = v+1, 0
		}
		if k += n; k == ms[m].Len() {
			m, k = m+1, 0
		}
	}
	return out, f, nil
}

// lane is n rows of values, from row v on, beside n rows of mask, from row m on.
type lane struct {
	values, mask arrow.ArrayData
	v, m, n      int
}

// filterDatum filters on the CPU. Two scalars count as arrays of one row, as in arrow-go.
func filterDatum(ctx context.Context, values, mask Datum, emit bool) (Datum, error) {
	if values.Kind() == ac.KindScalar && mask.Kind() == ac.KindScalar {
		one, err := scalar.MakeArrayFromScalar(values.(*ScalarDatum).Value, 1, GetAllocator(ctx))
		if err != nil {
			return nil, err
		}
		defer one.Release()
		bit, err := scalar.MakeArrayFromScalar(mask.(*ScalarDatum).Value, 1, GetAllocator(ctx))
		if err != nil {
			return nil, err
		}
		defer bit.Release()
		values, mask = NewDatumWithoutOwning(one), NewDatumWithoutOwning(bit)
	}
	if v, ok := values.(*ac.ArrayDatum); ok {
		if m, ok := mask.(*ac.ArrayDatum); ok && v.Value.Len() == m.Value.Len() {
			l := lane{values: v.Value, mask: m.Value, n: v.Value.Len()}
			return datumOrNil(l.filter(ctx, emit))
		}
	}
	ls, f, err := lanes(values, mask)
	if err != nil {
		return nil, err
	}
	out := make([]arrow.ArrayData, 0, len(ls))
	defer func() {
		for _, d := range out {
			d.Release()
		}
	}()
	for i := range ls {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := ls[i].filter(ctx, emit)
		if err != nil {
			return nil, err
		}
		out = append(out, d.Value)
	}
	return assemble(values.(ArrayLikeDatum).Type(), f, out), nil
}

// datumOrNil is a nil Datum rather than a Datum that holds a nil pointer.
func datumOrNil(d *ac.ArrayDatum, err error) (Datum, error) {
	if err != nil {
		return nil, err
	}
	return d, nil
}

// filters keeps the memory of selections for the next filter.
var filters = sync.Pool{New: func() any { return new(selection.Filter) }}

func (l *lane) filter(ctx context.Context, emit bool) (*ac.ArrayDatum, error) {
	m, err := columnOf(l.mask, msl.Bool, false)
	if err != nil {
		return nil, err
	}
	m = m.slice(l.m, l.n)
	f := filters.Get().(*selection.Filter)
	defer func() {
		f.Picker = selection.Picker{} // it holds the caller's allocator
		filters.Put(f)
	}()
	f.Picker = selection.Picker{Workers: workersOf(ctx), Mem: GetAllocator(ctx)}
	f.Select(m.bits(), m.valid, l.n, emit, f.Workers)
	values := l.values
	if l.n != values.Len() {
		values = array.NewSliceData(values, int64(l.v), int64(l.v+l.n))
		defer values.Release()
	}
	return f.PickDatum(values, f.Rows())
}

// pickerOf picks rows as the context says.
func pickerOf(ctx context.Context) *selection.Picker {
	return &selection.Picker{Workers: workersOf(ctx), Mem: GetAllocator(ctx)}
}

// filtered is array data like d with other buffers; a dictionary stays.
func filtered(d arrow.ArrayData, n, nulls int, valid, values *arrowmem.Buffer) arrow.ArrayData {
	bufs := []*arrowmem.Buffer{valid, values}
	if dict := dictionaryOf(d); dict != nil {
		return array.NewDataWithDictionary(d.DataType(), n, bufs, nulls, 0, dict)
	}
	return array.NewData(d.DataType(), n, bufs, nil, nulls, 0)
}

// Filter keeps the rows of values where filter is true. Values are an array, chunks, a record batch or a table of any
// type; filter is Bool and as long, an array or chunks (for a record batch, an array).
//
// A null in the filter drops its row, or with SelectionEmitNulls keeps it as null; what the values hold under nulls does
// not matter. Dictionaries, and the values behind views of strings and lists, stay as they are. Different lengths are arrow.ErrInvalid; a filter that is not Bool or is a
// scalar is arrow.ErrNotImplemented. The result belongs to the caller.
//
// The GPU is used from the crossover on for Bool and for values of 1, 2, 4 and 8 bytes.
func Filter(ctx context.Context, values, filter Datum, options FilterOptions) (Datum, error) {
	return CallFunction(ctx, "filter", &options, values, filter)
}

// FilterArray is [Filter] for an array. The caller releases the result.
func FilterArray(ctx context.Context, values, filter arrow.Array, options FilterOptions) (arrow.Array, error) {
	return callArrays(ctx, "filter", &options, values, filter)
}

// FilterRecordBatch is [Filter] for a record batch; the rows to keep are found once for all columns. Nil options drop
// the rows of nulls. The caller releases the result.
func FilterRecordBatch(ctx context.Context, batch arrow.RecordBatch, filter arrow.Array, opts *FilterOptions) (arrow.RecordBatch, error) {
	out, err := CallFunction(ctx, "filter", orDefault(opts), NewDatumWithoutOwning(batch), NewDatumWithoutOwning(filter))
	if err != nil {
		return nil, err
	}
	return out.(*RecordDatum).Value, nil
}

// FilterTable is [Filter] for a table; filter is an array or chunks. Nil options drop the rows of nulls. The caller
// releases the result.
func FilterTable(ctx context.Context, tbl arrow.Table, filter Datum, opts *FilterOptions) (arrow.Table, error) {
	out, err := CallFunction(ctx, "filter", orDefault(opts), NewDatumWithoutOwning(tbl), filter)
	if err != nil {
		return nil, err
	}
	return out.(*TableDatum).Value, nil
}

func orDefault(opts *FilterOptions) *FilterOptions {
	if opts == nil {
		return ac.DefaultFilterOptions()
	}
	return opts
}

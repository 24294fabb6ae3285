package compute

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	ac "github.com/apache/arrow-go/v18/arrow/compute"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute/internal/cpu"
)

// hashFunctions find distinct values, by name.
func hashFunctions() map[string]*function {
	doc := func(summary, opts string) FunctionDoc {
		return FunctionDoc{Summary: summary, ArgNames: []string{"array"}, OptionsType: opts}
	}
	one := Arity{NArgs: 1}
	return map[string]*function{
		"unique": {kind: ac.FuncVector, arity: one, whole: unique, doc: doc("Compute unique elements", "")},
		"value_counts": {kind: ac.FuncVector, arity: one, whole: valueCounts,
			doc: doc("Compute counts of unique elements", "")},
		"dictionary_encode": {kind: ac.FuncVector, arity: one, whole: dictionaryEncode,
			doc: doc("Dictionary-encode array", "DictionaryEncodeOptions")},
	}
}

// distinctInput is the argument of unique and value_counts: the columns to be told apart, and how distinct ones become
// values of the argument's type.
type distinctInput struct {
	cols    []column
	kind    keyKind
	values  func(ids identifier) (arrow.ArrayData, error)
	release func()
}

// distinctOf views an array or chunks. Dictionaries are told apart by their indexes, once those mean one dictionary.
func distinctOf(ctx context.Context, name string, d Datum) (*distinctInput, error) {
	if k := d.Kind(); k != ac.KindArray && k != ac.KindChunked {
		return nil, fmt.Errorf("%w: function '%s' takes an array or chunks, got a %s", arrow.ErrNotImplemented, name, k)
	}
	t := d.(ArrayLikeDatum).Type()
	if dict, ok := t.(*arrow.DictionaryType); ok {
		return distinctIndexes(ctx, d, dict)
	}
	in := &distinctInput{kind: keysOf(storageType(t)), values: func(ids identifier) (arrow.ArrayData, error) {
		return ids.values(t, GetAllocator(ctx))
	}}
	if in.kind == noKeys {
		return nil, errNoKernel
	}
	var err error
	in.cols, in.release, err = keyColumns(d, in.kind)
	return in, err
}

// unique is unique.
func unique(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	if opts != nil {
		return nil, fmt.Errorf("%w: function 'unique' does not take options of type %T", arrow.ErrInvalid, opts)
	}
	in, err := distinctOf(ctx, "unique", args[0])
	if err != nil {
		return nil, err
	}
	defer in.release()
	regions, err := identify(ctx, in.cols, in.kind, false, nil)
	if err != nil {
		return nil, err
	}
	out, err := in.values(regions[0].ids)
	if err != nil {
		return nil, err
	}
	return &ac.ArrayDatum{Value: out}, nil
}

// valueCounts is value_counts.
func valueCounts(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	if opts != nil {
		return nil, fmt.Errorf("%w: function 'value_counts' does not take options of type %T", arrow.ErrInvalid, opts)
	}
	in, err := distinctOf(ctx, "value_counts", args[0])
	if err != nil {
		return nil, err
	}
	defer in.release()
	counts := make([][]int64, max(1, workersOf(ctx))) // by region and id
	regions, err := identify(ctx, in.cols, in.kind, false, func(r int, _ piece, ids []int32) {
		c := counts[r]
		for _, id := range ids {
			for int(id) >= len(c) {
				c = append(c, 0)
			}
			c[id]++
		}
		counts[r] = c
	})
	if err != nil {
		return nil, err
	}
	values, err := in.values(regions[0].ids)
	if err != nil {
		return nil, err
	}
	defer values.Release()
	buf, err := newBuffer(GetAllocator(ctx), 8*values.Len())
	if err != nil {
		return nil, err
	}
	defer buf.Release()
	total := view[int64](buf.Bytes(), values.Len())
	clear(total)
	for r, c := range counts {
		for id, n := range c {
			if final := regions[r].final; final != nil {
				id = int(final[id])
			}
			total[id] += n
		}
	}
	count := array.NewData(arrow.PrimitiveTypes.Int64, values.Len(), []*arrowmem.Buffer{nil, buf}, nil, 0, 0)
	defer count.Release()
	t := arrow.StructOf(arrow.Field{Name: "values", Type: values.DataType(), Nullable: true},
		arrow.Field{Name: "counts", Type: arrow.PrimitiveTypes.Int64, Nullable: true})
	return &ac.ArrayDatum{Value: array.NewData(t, values.Len(), []*arrowmem.Buffer{nil},
		[]arrow.ArrayData{values, count}, 0, 0)}, nil
}

// dictionaryEncode is dictionary_encode. Dictionaries stay as they are.
func dictionaryEncode(ctx context.Context, opts FunctionOptions, args []Datum) (Datum, error) {
	o, err := optionsOf("dictionary_encode", opts, func() *DictionaryEncodeOptions { return &DictionaryEncodeOptions{} })
	if err != nil {
		return nil, err
	}
	if o.NullEncoding != NullEncodingMask && o.NullEncoding != NullEncodingEncode {
		return nil, fmt.Errorf("%w: invalid null encoding behavior %d", arrow.ErrInvalid, o.NullEncoding)
	}
	if k := args[0].Kind(); k != ac.KindArray && k != ac.KindChunked {
		return nil, fmt.Errorf("%w: function 'dictionary_encode' takes an array or chunks, got a %s", arrow.ErrNotImplemented, k)
	}
	t := args[0].(ArrayLikeDatum).Type()
	if t.ID() == arrow.DICTIONARY {
		return retained(args[0])
	}
	kind := keysOf(storageType(t))
	if kind == noKeys {
		return nil, errNoKernel
	}
	cols, release, err := keyColumns(args[0], kind)
	if err != nil {
		return nil, err
	}
	defer release()
	chunks, err := encoded(ctx, cols, kind, t, o.NullEncoding == NullEncodingMask)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, c := range chunks {
			c.Release()
		}
	}()
	form, _ := formOf(args[0])
	return assemble(encodedType(t), form, chunks), nil
}

func encodedType(t arrow.DataType) arrow.DataType {
	return &arrow.DictionaryType{IndexType: arrow.PrimitiveTypes.Int32, ValueType: t}
}

// encoded are columns as dictionary arrays that share one dictionary.
func encoded(ctx context.Context, cols []column, kind keyKind, t arrow.DataType, masked bool) (out []arrow.ArrayData, err error) {
	mem := GetAllocator(ctx)
	bufs := make([]*arrowmem.Buffer, len(cols))
	defer func() { releaseBuffers(bufs) }()
	indexes := make([][]int32, len(cols))
	for i := range cols {
		if bufs[i], err = newBuffer(mem, 4*cols[i].n); err != nil {
			return nil, err
		}
		indexes[i] = view[int32](bufs[i].Bytes(), cols[i].n)
	}
	// Rows of the null type have a null for their dictionary, masked or not.
	regions, err := identify(ctx, cols, kind, masked && kind != nullKeys, func(_ int, p piece, ids []int32) {
		copy(indexes[p.col][p.start:p.end], ids)
	})
	if err != nil {
		return nil, err
	}
	cpu.Parallel(64*len(regions), 64, workersOf(ctx), func(_, start, end int) {
		for _, g := range regions[start/64 : end/64] {
			if len(g.final) == 0 {
				continue // they stay, or every row is null
			}
			for _, p := range g.pieces {
				for i, id := range indexes[p.col][p.start:p.end] {
					indexes[p.col][p.start+i] = g.final[id]
				}
			}
		}
	})
	dict, err := regions[0].ids.values(t, mem)
	if err != nil {
		return nil, err
	}
	defer dict.Release()
	for i := range cols {
		var valid *arrowmem.Buffer
		nulls := 0
		if masked && !cols[i].valid.All() {
			if valid, err = newBuffer(mem, (cols[i].n+7)/8); err != nil {
				for _, c := range out {
					c.Release()
				}
				return nil, err
			}
			cpu.CopyBits(valid.Bytes(), cols[i].valid, cols[i].n)
			nulls = array.UnknownNullCount
		}
		out = append(out, array.NewDataWithDictionary(encodedType(t), cols[i].n, []*arrowmem.Buffer{valid, bufs[i]}, nulls, 0, dict.(*array.Data)))
		if valid != nil {
			valid.Release()
		}
	}
	return out, nil
}

package golden

import (
	"bytes"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"github.com/broadhead-go/broadhead/compute"
)

// columnType is the type of a payload of one column, nil for a table.
func (p *Payload) columnType() (arrow.DataType, error) {
	rd, err := ipc.NewReader(bytes.NewReader(p.IPC))
	if err != nil {
		return nil, err
	}
	defer rd.Release()
	if p.Kind == "table" || rd.Schema().NumFields() != 1 {
		return nil, nil
	}
	return rd.Schema().Field(0).Type, nil
}

// datum reads a payload. The memory is the garbage collector's, so nothing
// here needs a release.
func (p *Payload) datum() (compute.Datum, error) {
	schema, recs, err := p.read()
	if err != nil {
		return nil, err
	}
	if p.Kind == "table" {
		return compute.NewDatum(array.NewTableFromRecords(schema, recs)), nil
	}
	if schema.NumFields() != 1 {
		return nil, fmt.Errorf("%d columns where one is expected", schema.NumFields())
	}
	typ := schema.Field(0).Type
	chunks := make([]arrow.Array, len(recs))
	for i, r := range recs {
		chunks[i] = r.Column(0)
	}
	if p.Kind == "chunked" {
		return compute.NewDatum(arrow.NewChunked(typ, chunks)), nil
	}
	if len(chunks) != 1 {
		return nil, fmt.Errorf("%s of %d batches", p.Kind, len(chunks))
	}
	arr := chunks[0]
	switch p.Kind {
	case "array":
		if p.Offset != nil && p.Length != nil {
			arr = array.NewSlice(arr, *p.Offset, *p.Offset+*p.Length)
		}
		return compute.NewDatum(arr), nil
	case "scalar":
		if arr.Len() != 1 {
			return nil, fmt.Errorf("scalar of %d rows", arr.Len())
		}
		if isNull(arr, 0) {
			return compute.NewDatum(scalar.MakeNullScalar(typ)), nil
		}
		s, err := scalar.GetScalar(arr, 0)
		if err != nil {
			return nil, err
		}
		return compute.NewDatum(s), nil
	}
	return nil, fmt.Errorf("payload of kind %q", p.Kind)
}

func (p *Payload) read() (*arrow.Schema, []arrow.RecordBatch, error) {
	rd, err := ipc.NewReader(bytes.NewReader(p.IPC))
	if err != nil {
		return nil, nil, err
	}
	defer rd.Release()
	var recs []arrow.RecordBatch
	for rd.Next() {
		rec := rd.RecordBatch()
		rec.Retain()
		recs = append(recs, rec)
	}
	return rd.Schema(), recs, rd.Err()
}

// column is a result's rows without its shape: an array, the chunks of a
// chunked array, or a scalar as one row.
type column struct {
	typ   arrow.DataType
	cells []cell
}

type cell struct {
	arr arrow.Array
	row int
}

func newColumn(typ arrow.DataType, chunks []arrow.Array) column {
	c := column{typ: typ}
	for _, arr := range chunks {
		for i := range arr.Len() {
			c.cells = append(c.cells, cell{arr, i})
		}
	}
	return c
}

func scalarColumn(s scalar.Scalar) (column, error) {
	if !s.IsValid() {
		arr := array.MakeArrayOfNull(mem, s.DataType(), 1)
		return newColumn(s.DataType(), []arrow.Array{arr}), nil
	}
	arr, err := scalar.MakeArrayFromScalar(s, 1, mem)
	if err != nil {
		return column{}, err
	}
	return newColumn(s.DataType(), []arrow.Array{arr}), nil
}

// isNull is the logical validity: an array of the null type has no bitmap, and
// a dictionary's value may be null although its index is not.
func isNull(arr arrow.Array, row int) bool {
	switch a := arr.(type) {
	case *array.Null:
		return true
	case *array.Dictionary:
		return a.IsNull(row) || isNull(a.Dictionary(), a.GetValueIndex(row))
	}
	return arr.IsNull(row)
}

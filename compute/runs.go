package compute

import (
	"errors"
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	ac "github.com/apache/arrow-go/v18/arrow/compute"

	"github.com/broadhead-go/broadhead/msl"
)

// form is how a datum holds values, and so how the result will: a scalar, one array, or chunks.
type form uint8

const (
	formScalar form = iota
	formArray
	formChunked
)

func (f form) String() string { return [...]string{"scalar", "array", "chunked array"}[f] }

// formOf is the form of a datum; ok is false for record batches and tables.
func formOf(d ac.Datum) (f form, ok bool) {
	switch d.Kind() {
	case ac.KindScalar:
		return formScalar, true
	case ac.KindArray:
		return formArray, true
	case ac.KindChunked:
		return formChunked, true
	}
	return 0, false
}

// chunksOf is the array data of an array or chunked datum, borrowed.
func chunksOf(d ac.Datum) []arrow.ArrayData {
	switch v := d.(type) {
	case *ac.ArrayDatum:
		return []arrow.ArrayData{v.Value}
	case *ac.ChunkedDatum:
		out := make([]arrow.ArrayData, len(v.Value.Chunks()))
		for i, c := range v.Value.Chunks() {
			out[i] = c.Data()
		}
		return out
	}
	return nil
}

// columnsOf views a datum as columns of element type t, one a chunk.
func columnsOf(d ac.Datum, t msl.Type, validity bool) ([]column, error) {
	if s, ok := d.(*ac.ScalarDatum); ok {
		c, err := scalarColumn(s.Value, t, validity)
		return []column{c}, err
	}
	chunks := chunksOf(d)
	out := make([]column, len(chunks))
	for i, data := range chunks {
		c, err := columnOf(data, t, validity)
		if err != nil {
			return nil, err
		}
		out[i] = c
	}
	return out, nil
}

// run is a stretch of rows in which every input is one column.
type run struct {
	n    int
	cols [maxInputs]column
}

// runs keeps memory for runs of one call.
var runs = sync.Pool{New: func() any { return new(run) }}

// recycle forgets the columns.
func (r *run) recycle() {
	*r = run{}
	runs.Put(r)
}

// measure finds the number of rows of arguments that are arrays and scalars.
func (r *run) measure(forms [maxInputs]form, args int) (form, error) {
	f := formScalar
	r.n = 1
	for i := range args {
		switch {
		case forms[i] == formScalar:
		case f != formScalar && r.cols[i].n != r.n:
			return f, lengthError(r.n, r.cols[i].n)
		default:
			r.n, f = r.cols[i].n, formArray
		}
	}
	return f, nil
}

// alignRuns cuts inputs into runs at every chunk border of any of them. Scalars serve every run. Inputs of different
// lengths are an error.
func alignRuns(args [][]column, forms []form) ([]run, form, error) {
	lengths := make([][]int, len(args))
	for i, cols := range args {
		for _, c := range cols {
			lengths[i] = append(lengths[i], c.n)
		}
	}
	cuts, f, err := alignLengths(lengths, forms)
	if err != nil {
		return nil, f, err
	}
	runs := make([]run, len(cuts))
	chunk, row := make([]int, len(args)), make([]int, len(args))
	for k, n := range cuts {
		runs[k].n = n
		for i, cols := range args {
			if forms[i] == formScalar || f != formChunked {
				runs[k].cols[i] = cols[0]
				continue
			}
			for row[i] == cols[chunk[i]].n {
				chunk[i]++
				row[i] = 0
			}
			runs[k].cols[i] = cols[chunk[i]].slice(row[i], n)
			row[i] += n
		}
	}
	return runs, f, nil
}

// alignLengths is alignRuns for the lengths of chunks alone.
func alignLengths(args [][]int, forms []form) (runs []int, f form, err error) {
	total := -1
	for i, chunks := range args {
		if forms[i] == formScalar {
			continue
		}
		f = max(f, forms[i])
		n := 0
		for _, c := range chunks {
			n += c
		}
		if total >= 0 && n != total {
			return nil, f, lengthError(total, n)
		}
		total = n
	}
	if total < 0 {
		total = 1
	}
	if f != formChunked {
		return []int{total}, f, nil
	}
	chunk, row := make([]int, len(args)), make([]int, len(args))
	for done := 0; done < total; {
		n := total - done
		for i, chunks := range args {
			if forms[i] == formScalar {
				continue
			}
			for row[i] == chunks[chunk[i]] {
				chunk[i]++
				row[i] = 0
			}
			n = min(n, chunks[chunk[i]]-row[i])
		}
		for i := range args {
			row[i] += n
		}
		runs = append(runs, n)
		done += n
	}
	return runs, f, nil
}

func lengthError(a, b int) error {
	return fmt.Errorf("%w: array args must all be the same length, got %d and %d", arrow.ErrInvalid, a, b)
}

// errUnaligned says that only the device knows whether two lengths are equal: the call goes to the CPU.
var errUnaligned = errors.New("lengths that only the device knows do not match")

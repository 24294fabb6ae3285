package compute

import (
	"errors"
	"fmt"

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

// oneRun makes a run of arguments that are arrays and scalars.
func oneRun(cols [maxInputs]column, forms [maxInputs]form, args int) (run, form, error) {
	r, f := run{n: 1, cols: cols}, formScalar
	for i := range args {
		switch {
		case forms[i] == formScalar:
		case f != formScalar && cols[i].n != r.n:
			return r, f, lengthError(r.n, cols[i].n)
		default:
			r.n, f = cols[i].n, formArray
		}
	}
	return r, f, nil
}

// alignRuns cuts arguments into runs at every chunk border of any of them. Scalars serve every run. Arguments of
// different lengths are an error.
func alignRuns(args [][]column, forms []form) ([]run, form, error) {
	out, total := formScalar, -1
	for i, cols := range args {
		if forms[i] == formScalar {
			continue
		}
		out = max(out, forms[i])
		n := 0
		for _, c := range cols {
			n += c.n
		}
		if total >= 0 && n != total {
			return nil, out, lengthError(total, n)
		}
		total = n
	}
	if total < 0 {
		total = 1
	}
	if out != formChunked {
		r := run{n: total}
		for i := range args {
			r.cols[i] = args[i][0]
		}
		return []run{r}, out, nil
	}
	return cutRuns(args, forms, total), out, nil
}

func lengthError(a, b int) error {
	return fmt.Errorf("%w: array args must all be the same length, got %d and %d", arrow.ErrInvalid, a, b)
}

// errUnaligned says that only the device knows whether two lengths are equal: the call goes to the CPU.
var errUnaligned = errors.New("lengths that only the device knows do not match")

func cutRuns(args [][]column, forms []form, total int) []run {
	var runs []run
	chunk, row := make([]int, len(args)), make([]int, len(args))
	for done := 0; done < total; {
		r := run{n: total - done}
		for i, cols := range args {
			if forms[i] == formScalar {
				continue
			}
			for row[i] == cols[chunk[i]].n {
				chunk[i]++
				row[i] = 0
			}
			r.n = min(r.n, cols[chunk[i]].n-row[i])
		}
		for i, cols := range args {
			if forms[i] == formScalar {
				r.cols[i] = cols[0]
				continue
			}
			r.cols[i] = cols[chunk[i]].slice(row[i], r.n)
			row[i] += r.n
		}
		runs = append(runs, r)
		done += r.n
	}
	return runs
}

package compute

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Decision says where a call would run, and why.
type Decision struct {
	Function  string
	Device    string // "cpu", "arrow-go", or the device's driver
	Rows      int64
	Crossover int64 // rows from which the device wins; Never if it does not
	Place     Place // of the inputs, where a device was considered
	Reason    string
}

func (d Decision) String() string {
	return fmt.Sprintf("%s of %d rows on %s: %s", d.Function, d.Rows, d.Device, d.Reason)
}

const (
	cpuName   = "cpu"
	arrowName = "arrow-go"
)

// Explain says where CallFunction with the same arguments would run, and why: too few rows, no device, types without a
// GPU kernel, a kernel that failed its admission, a device that is lost, earlier calls that the CPU had to answer. It runs
// nothing. Errors are those of the call
// as far as types show them.
func Explain(ctx context.Context, name string, opts FunctionOptions, args ...Datum) (Decision, error) {
	d := Decision{Function: name, Crossover: Never}
	f, ok := find(ctx, name)
	if !ok {
		return d, fmt.Errorf("%w: function '%s' not found", arrow.ErrKey, name)
	}
	own, ok := f.(*function)
	if !ok {
		d.Device, d.Reason = arrowName, "a function of arrow-go's registry"
		return d, nil
	}
	if err := own.checkArgs(args); err != nil {
		return d, err
	}
	d.Rows = rowsOf(args)
	if own.whole != nil {
		d.Device, d.Reason = cpuName, "no GPU kernel"
		return d, nil
	}
	if own.tables != nil {
		if cols := columnsOfTable(args[0]); cols != nil {
			return explainColumns(ctx, own, opts, cols, args[1], d)
		}
	}
	types := make([]arrow.DataType, len(args))
	for i, a := range args {
		al, ok := a.(ArrayLikeDatum)
		if !ok {
			return d, fmt.Errorf("%w: function '%s' does not take a %s", arrow.ErrNotImplemented, name, a.Kind())
		}
		types[i] = al.Type()
	}
	c, err := own.resolve(opts, types)
	if errors.Is(err, errNoKernel) {
		if own.base == nil {
			return d, own.noKernel(types)
		}
		d.Device, d.Reason = arrowName, fmt.Sprintf("no kernel of ours for %s", typeList(types))
		return d, nil
	}
	if err != nil {
		return d, err
	}
	c.choose(ctx, args, &d)
	if c.passes {
		d.Device = arrowName
	}
	return d, nil
}

// columnsOfTable are the columns of a record batch or table, borrowed.
func columnsOfTable(d Datum) []Datum {
	var cols []Datum
	switch v := d.(type) {
	case *RecordDatum:
		for _, c := range v.Value.Columns() {
			cols = append(cols, NewDatumWithoutOwning(c))
		}
	case *TableDatum:
		for i := range int(v.Value.NumCols()) {
			cols = append(cols, NewDatumWithoutOwning(v.Value.Column(i).Data()))
		}
	}
	return cols
}

// explainColumns explains a call over a table by its first column that a device would take, else its first.
func explainColumns(ctx context.Context, f *function, opts FunctionOptions, cols []Datum, mask Datum, d Decision) (Decision, error) {
	for i, col := range cols {
		one, err := Explain(ctx, f.name, opts, col, mask)
		if err != nil {
			return d, err
		}
		if i == 0 || one.Device != cpuName && one.Device != arrowName {
			d = one
		}
	}
	return d, nil
}

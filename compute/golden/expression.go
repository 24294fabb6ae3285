package golden

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/broadhead-go/broadhead/compute"
)

// expression is a node of the tree that selects rows in a Table.filter case.
type expression struct {
	Call     string       `json:"call"`
	Args     []expression `json:"args"`
	ValueSet []*int64     `json:"value_set_int64"`
	Field    string       `json:"field"`
	Int64    *int64       `json:"literal_int64"`
	UTF8     *string      `json:"literal_utf8"`
}

// filterTable runs a Table.filter case: by a mask, or by an expression whose
// null rows are dropped.
func (c *Case) filterTable(ctx context.Context, args []compute.Datum) (compute.Datum, error) {
	var opts compute.FunctionOptions
	if len(c.Expression) > 0 && string(c.Expression) != "null" {
		var e expression
		if err := json.Unmarshal(c.Expression, &e); err != nil {
			return nil, err
		}
		table, ok := args[0].(*compute.TableDatum)
		if !ok {
			return nil, fmt.Errorf("expression over a %s", args[0].Kind())
		}
		mask, err := e.eval(ctx, table.Value)
		if err != nil {
			return nil, err
		}
		args = []compute.Datum{args[0], mask}
	} else {
		var err error
		if opts, err = filterOptions(c.NullSelection); err != nil {
			return nil, err
		}
	}
	return compute.CallFunction(ctx, names[c.Function], opts, args...)
}

func (e *expression) eval(ctx context.Context, table arrow.Table) (compute.Datum, error) {
	switch {
	case e.Field != "":
		at := table.Schema().FieldIndices(e.Field)
		if len(at) != 1 {
			return nil, fmt.Errorf("%d columns named %q", len(at), e.Field)
		}
		return compute.NewDatum(table.Column(at[0]).Data()), nil
	case e.Int64 != nil:
		return compute.NewDatum(*e.Int64), nil
	case e.UTF8 != nil:
		return compute.NewDatum(*e.UTF8), nil
	}
	args := make([]compute.Datum, len(e.Args))
	for i := range e.Args {
		var err error
		if args[i], err = e.Args[i].eval(ctx, table); err != nil {
			return nil, err
		}
	}
	if e.Call == "is_in" {
		return compute.CallFunction(ctx, "is_in", e.setOptions(), args...)
	}
	name, ok := names[e.Call]
	if !ok {
		return nil, fmt.Errorf("expression calls %q, which is not mapped", e.Call)
	}
	return compute.CallFunction(ctx, name, nil, args...)
}

func (e *expression) setOptions() *compute.SetOptions {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	for _, v := range e.ValueSet {
		if v == nil {
			b.AppendNull()
		} else {
			b.Append(*v)
		}
	}
	return &compute.SetOptions{ValueSet: compute.NewDatum(b.NewArray())}
}

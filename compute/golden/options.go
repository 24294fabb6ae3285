package golden

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/broadhead-go/broadhead/compute"
)

// optionValues are the fields of all mapped option classes.
type optionValues struct {
	Class         string `json:"class"`
	SkipNulls     bool   `json:"skip_nulls"`
	MinCount      uint32 `json:"min_count"`
	Mode          string `json:"mode"`
	NanIsNull     bool   `json:"nan_is_null"`
	NullSelection string `json:"null_selection_behavior"`

	ToType               []byte          `json:"to_type_ipc"`
	AllowIntOverflow     bool            `json:"allow_int_overflow"`
	AllowTimeTruncate    bool            `json:"allow_time_truncate"`
	AllowTimeOverflow    bool            `json:"allow_time_overflow"`
	AllowDecimalTruncate bool            `json:"allow_decimal_truncate"`
	AllowFloatTruncate   bool            `json:"allow_float_truncate"`
	AllowInvalidUTF8     bool            `json:"allow_invalid_utf8"`
	Boundscheck          bool            `json:"boundscheck"`
	ValueSet             Payload         `json:"value_set"`
	NullMatching         string          `json:"null_matching_behavior"`
	NullEncoding         string          `json:"null_encoding"`
	Order                string          `json:"order"`
	NullPlacement        string          `json:"null_placement"`
	SortKeys             []sortKeyValues `json:"sort_keys"`
}

var optionClasses = map[string]func(optionValues) (compute.FunctionOptions, error){
	"ScalarAggregateOptions": func(v optionValues) (compute.FunctionOptions, error) {
		return &compute.ScalarAggregateOptions{SkipNulls: v.SkipNulls, MinCount: v.MinCount}, nil
	},
	"CountOptions": func(v optionValues) (compute.FunctionOptions, error) {
		mode, ok := countModes[v.Mode]
		if !ok {
			return nil, fmt.Errorf("count mode %q", v.Mode)
		}
		return &compute.CountOptions{Mode: mode}, nil
	},
	"NullOptions": func(v optionValues) (compute.FunctionOptions, error) {
		return &compute.NullOptions{NanIsNull: v.NanIsNull}, nil
	},
	"CastOptions": func(v optionValues) (compute.FunctionOptions, error) {
		to, err := v.castTarget()
		return &compute.CastOptions{
			ToType: to, AllowIntOverflow: v.AllowIntOverflow, AllowTimeTruncate: v.AllowTimeTruncate,
			AllowTimeOverflow: v.AllowTimeOverflow, AllowDecimalTruncate: v.AllowDecimalTruncate,
			AllowFloatTruncate: v.AllowFloatTruncate, AllowInvalidUtf8: v.AllowInvalidUTF8,
		}, err
	},
	"SetLookupOptions": setOptions,
	"DictionaryEncodeOptions": func(v optionValues) (compute.FunctionOptions, error) {
		o := &compute.DictionaryEncodeOptions{}
		switch v.NullEncoding {
		case "encode":
			o.NullEncoding = compute.NullEncodingEncode
		case "mask":
		default:
			return nil, fmt.Errorf("null encoding %q", v.NullEncoding)
		}
		return o, nil
	},
	"ArraySortOptions": func(v optionValues) (compute.FunctionOptions, error) {
		k, err := sortKey(v.Order, v.NullPlacement)
		return &compute.ArraySortOptions{SortKey: k}, err
	},
	"FilterOptions": func(v optionValues) (compute.FunctionOptions, error) {
		return filterOptions(v.NullSelection)
	},
	"TakeOptions": func(v optionValues) (compute.FunctionOptions, error) {
		return &compute.TakeOptions{BoundsCheck: v.Boundscheck}, nil
	},
}

// setOptions maps SetLookupOptions.
func setOptions(v optionValues) (compute.FunctionOptions, error) {
	set, err := v.ValueSet.datum()
	if err != nil {
		return nil, err
	}
	o := &compute.SetOptions{ValueSet: set}
	switch {
	case v.SkipNulls:
		o.NullBehavior = compute.NullMatchingSkip
	case v.NullMatching == "EMIT_NULL":
		o.NullBehavior = compute.NullMatchingEmitNull
	case v.NullMatching == "INCONCLUSIVE":
		o.NullBehavior = compute.NullMatchingInconclusive
	case v.NullMatching != "":
		return nil, fmt.Errorf("null matching %q", v.NullMatching)
	}
	return o, nil
}

var countModes = map[string]compute.CountMode{
	"only_valid": compute.CountOnlyValid,
	"only_null":  compute.CountOnlyNull,
	"all":        compute.CountAll,
}

func filterOptions(selection string) (compute.FunctionOptions, error) {
	switch selection {
	case "drop":
		return &compute.FilterOptions{NullSelection: compute.SelectionDropNulls}, nil
	case "emit_null":
		return &compute.FilterOptions{NullSelection: compute.SelectionEmitNulls}, nil
	}
	return nil, fmt.Errorf("null selection %q", selection)
}

// castTarget is the type that a cast is to give.
func (v *optionValues) castTarget() (arrow.DataType, error) {
	r, err := ipc.NewReader(bytes.NewReader(v.ToType))
	if err != nil {
		return nil, fmt.Errorf("to_type_ipc: %w", err)
	}
	defer r.Release()
	return r.Schema().Field(0).Type, nil
}

// foreignCast says that a cast is not one between numbers and Bool, which is what the engine claims, or that its answer
// is the machine's that made the cases.
func (c *Case) foreignCast() bool {
	var v optionValues
	if c.Function != "cast" || json.Unmarshal(c.Options, &v) != nil {
		return false
	}
	to, err := v.castTarget()
	if err != nil {
		return false
	}
	from, err := c.Args[0].columnType()
	number := func(t arrow.DataType) bool {
		return t != nil && (t.ID() == arrow.BOOL || arrow.IsPrimitive(t.ID()) && supported(t) && t.ID() <= arrow.FLOAT64)
	}
	return c.PlatformDefined || err == nil && !(number(from) && number(to))
}

// options returns nil for a call without options.
func (c *Case) options(args []compute.Datum) (compute.FunctionOptions, error) {
	if len(c.Options) == 0 || string(c.Options) == "null" {
		return nil, nil
	}
	var v optionValues
	if err := json.Unmarshal(c.Options, &v); err != nil {
		return nil, err
	}
	if v.Class == "SortOptions" {
		return c.sortOptions(v, args[0])
	}
	build, ok := optionClasses[v.Class]
	if !ok {
		return nil, fmt.Errorf("options class %q is not mapped", v.Class)
	}
	return build(v)
}

// sortKeyValues is a key of SortOptions.
type sortKeyValues struct {
	Name          string `json:"name"`
	Order         string `json:"order"`
	NullPlacement string `json:"null_placement"`
}

func sortKey(order, placement string) (k compute.SortKey, err error) {
	switch order {
	case "ascending":
	case "descending":
		k.Order = compute.SortOrderDescending
	default:
		return k, fmt.Errorf("sort order %q", order)
	}
	switch placement {
	case "at_end":
	case "at_start":
		k.NullPlacement = compute.SortNullsAtStart
	default:
		return k, fmt.Errorf("null placement %q", placement)
	}
	return k, nil
}

// sortOptions maps SortOptions: the names of columns to their numbers in the
// argument, which has none if it is no table.
func (c *Case) sortOptions(v optionValues, arg compute.Datum) (compute.FunctionOptions, error) {
	out := compute.SortOptions{}
	for _, key := range v.SortKeys {
		if v.NullPlacement != "" {
			key.NullPlacement = v.NullPlacement
		}
		k, err := sortKey(key.Order, key.NullPlacement)
		if err != nil {
			return nil, err
		}
		if t, ok := arg.(*compute.TableDatum); ok {
			at := t.Value.Schema().FieldIndices(key.Name)
			k.ColumnIndex = -1
			if len(at) > 0 {
				k.ColumnIndex = at[0]
			}
		}
		out = append(out, k)
	}
	return out, nil
}

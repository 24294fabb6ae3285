package golden

import (
	"encoding/json"
	"fmt"

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
	"FilterOptions": func(v optionValues) (compute.FunctionOptions, error) {
		return filterOptions(v.NullSelection)
	},
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

// options returns nil for a call without options.
func (c *Case) options() (compute.FunctionOptions, error) {
	if len(c.Options) == 0 || string(c.Options) == "null" {
		return nil, nil
	}
	var v optionValues
	if err := json.Unmarshal(c.Options, &v); err != nil {
		return nil, err
	}
	build, ok := optionClasses[v.Class]
	if !ok {
		return nil, fmt.Errorf("options class %q is not mapped", v.Class)
	}
	return build(v)
}

package golden

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// byteStrings are text and binaries; more lists types that single functions
// are claimed for on top of those of all.
var (
	byteStrings = []arrow.Type{
		arrow.STRING, arrow.LARGE_STRING, arrow.STRING_VIEW,
		arrow.BINARY, arrow.LARGE_BINARY, arrow.BINARY_VIEW, arrow.FIXED_SIZE_BINARY,
	}
	more = map[string][]arrow.Type{
		"equal": byteStrings, "not_equal": byteStrings, "less": byteStrings, "less_equal": byteStrings,
		"greater": byteStrings, "greater_equal": byteStrings,
		"is_in": keys, "index_in": keys, "is_in_meta_binary": keys, "index_in_meta_binary": keys,
		"unique": keys, "value_counts": keys, "dictionary_encode": keys, "sort_indices": keys, "array_sort_indices": keys,
	}
	// keys are types whose values are told apart; of fixed width all but half
	// floats and lists.
	keys = append([]arrow.Type{
		arrow.DECIMAL128, arrow.DECIMAL256, arrow.INTERVAL_MONTHS, arrow.INTERVAL_DAY_TIME, arrow.INTERVAL_MONTH_DAY_NANO,
	}, byteStrings...)
)

// supportedBy tells whether an argument's type is one that a function is
// claimed for. A failure on another type is not a failure.
func supportedBy(function string, typ arrow.DataType) bool {
	return supported(typ) || slices.Contains(more[function], typ.ID())
}

// supported tells whether a type is one that all functions of the names table
// are claimed for. Tables are a shape: any column may pass through.
func supported(typ arrow.DataType) bool {
	switch typ.ID() {
	case arrow.BOOL, arrow.FLOAT32, arrow.FLOAT64,
		arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64,
		arrow.UINT8, arrow.UINT16, arrow.UINT32, arrow.UINT64,
		arrow.DATE32, arrow.DATE64, arrow.TIME32, arrow.TIME64,
		arrow.TIMESTAMP, arrow.DURATION, arrow.NULL:
		return true
	case arrow.DICTIONARY:
		value := typ.(*arrow.DictionaryType).ValueType
		return value.ID() == arrow.STRING || supported(value)
	}
	return false
}

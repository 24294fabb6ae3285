package golden

// names maps the Arrow C++ name of every function that the engine claims to
// the registered name with that meaning. A function without a row is unknown.
//
// Where the two projects differ: C++ `add` wraps and `add_checked` fails on
// overflow, arrow-go's `add` fails and `add_unchecked` wraps; C++ `divide` gives
// 0 for the smallest integer over -1 yet fails for an integer over 0, as our
// `divide_unchecked` does; C++ `is_nan` of a null is null, arrow-go's is false.
var names = map[string]string{
	"count": "count", "sum": "sum", "mean": "mean",
	"min": "min", "max": "max", "min_max": "min_max",
	"any": "any", "all": "all",

	"equal": "equal", "not_equal": "not_equal",
	"greater": "greater", "greater_equal": "greater_equal",
	"less": "less", "less_equal": "less_equal",

	"add": "add_unchecked", "add_checked": "add",
	"subtract": "subtract_unchecked", "subtract_checked": "subtract",
	"multiply": "multiply_unchecked", "multiply_checked": "multiply",
	"divide": "divide_unchecked", "divide_checked": "divide",

	"and": "and", "and_kleene": "and_kleene",
	"and_not": "and_not", "and_not_kleene": "and_not_kleene",
	"or": "or", "or_kleene": "or_kleene",
	"xor": "xor", "invert": "not",

	"is_null": "is_null", "is_valid": "is_not_null", "is_nan": "is_nan_propagate",

	"cast":   "cast",
	"unique": "unique", "value_counts": "value_counts", "dictionary_encode": "dictionary_encode",
	"sort_indices": "sort_indices", "array_sort_indices": "array_sort_indices",

	"is_in": "is_in", "is_in_meta_binary": "is_in_meta_binary",
	"index_in": "index_in", "index_in_meta_binary": "index_in_meta_binary",

	"filter": "filter", "array_filter": "array_filter", "Table.filter": "filter",
	"take": "take", "array_take": "array_take",
}

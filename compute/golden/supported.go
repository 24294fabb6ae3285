package golden

import "github.com/apache/arrow-go/v18/arrow"

// supported tells whether an argument's type is one that the functions of the
// names table are claimed for. A failure on another type is not a failure.
// Tables are a shape: any column may pass through.
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

package main

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/memory"
)

// show says where the values of a column lie: in the allocator's memory, and if that is a device's, whether the
// address that the device's buffer has for the host is the column's own.
func show(how string, column arrow.Array) {
	values := column.Data().Buffers()[1].Bytes()
	place, found := memory.Lookup(values)
	inPlace := false
	if dev := place.Buffer(); dev != nil {
		inPlace = &dev.Host()[place.Offset()] == &values[0]
	}
	fmt.Printf("%-8s %6d values; in the allocator's memory: %t; used by a device in place: %t\n",
		how, column.Len(), found, inPlace)
}

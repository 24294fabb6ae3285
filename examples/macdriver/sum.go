//go:build darwin && cgo

package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

// sum computes with the memory of an application's buffer, as a column of int64 without a copy.
func sum(ctx context.Context, bytes []byte) error {
	rows := len(bytes) / arrow.Int64SizeBytes
	buffers := []*arrowmem.Buffer{nil, arrowmem.NewBufferBytes(bytes)}
	data := array.NewData(arrow.PrimitiveTypes.Int64, rows, buffers, nil, 0, 0)
	defer data.Release()
	column := array.NewInt64Data(data)
	defer column.Release()
	total, err := compute.SumArray(ctx, nil, column)
	if err != nil {
		return err
	}
	fmt.Printf("sum of %d rows of the application's buffer: %s\n", rows, total)
	return nil
}

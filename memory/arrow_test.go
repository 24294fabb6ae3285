package memory

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/require"
)

var testSchema = arrow.NewSchema([]arrow.Field{
	{Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "f", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true},
	{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int32), Nullable: true},
}, nil)

// makeRecord builds rows of every column type, every seventh null.
func makeRecord(mem arrowmemory.Allocator, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, testSchema)
	defer b.Release()
	for i := range rows {
		if i%7 == 6 {
			for _, f := range b.Fields() {
				f.AppendNull()
			}
			continue
		}
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.Float64Builder).Append(float64(i) / 3)
		b.Field(2).(*array.StringBuilder).Append(fmt.Sprint("row ", i))
		b.Field(3).(*array.BooleanBuilder).Append(i%3 == 0)
		list := b.Field(4).(*array.ListBuilder)
		list.Append(true)
		for k := range i % 4 {
			list.ValueBuilder().(*array.Int32Builder).Append(int32(k))
		}
	}
	return b.NewRecordBatch()
}

func TestCheckedAllocatorBalances(t *testing.T) {
	each(t, func(t *testing.T, a *Allocator) {
		checked := arrowmemory.NewCheckedAllocator(a)
		for _, rows := range []int{0, 1, 7, 1000, 30_000} {
			rec := makeRecord(checked, rows)
			want := makeRecord(arrowmemory.NewGoAllocator(), rows)
			require.True(t, array.RecordEqual(want, rec), "%d rows", rows)
			part := rec.NewSlice(int64(rows/3), int64(rows/2))
			rec.Release()
			part.Release()

			dict := array.NewDictionaryBuilder(checked, &arrow.DictionaryType{
				IndexType: arrow.PrimitiveTypes.Int32, ValueType: arrow.BinaryTypes.String}).(*array.BinaryDictionaryBuilder)
			for i := range rows {
				require.NoError(t, dict.AppendString(fmt.Sprint(i%100)))
			}
			dict.NewArray().Release()
			dict.Release()
		}
		checked.AssertSize(t, 0)
		require.Zero(t, a.Stats().Active)
		require.Zero(t, a.Stats().BadFrees)
	})
}

// requireInPlace checks that every buffer of every column lies in memory of a.
func requireInPlace(t *testing.T, a *Allocator, data arrow.ArrayData) {
	t.Helper()
	for i, buf := range data.Buffers() {
		if buf == nil || buf.Len() == 0 {
			continue
		}
		ref, ok := Lookup(buf.Bytes())
		require.True(t, ok, "%s: buffer %d", data.DataType(), i)
		require.True(t, a.Owns(buf.Bytes()))
		require.GreaterOrEqual(t, ref.Room(), buf.Len())
		if ref.Buffer() != nil { // zero copy: the device sees these very bytes
			require.Same(t, &ref.Buffer().Host()[ref.Offset()], &buf.Bytes()[0])
		}
	}
	for _, child := range data.Children() {
		requireInPlace(t, a, child)
	}
}

func TestIPCReaderReadsIntoDeviceMemory(t *testing.T) {
	const rows = 5000
	want := makeRecord(arrowmemory.NewGoAllocator(), rows)
	for name, opts := range map[string][]ipc.Option{"plain": nil, "zstd": {ipc.WithZstd()}, "lz4": {ipc.WithLZ4()}} {
		var f bytes.Buffer
		w := ipc.NewWriter(&f, append(opts, ipc.WithSchema(testSchema))...)
		require.NoError(t, w.Write(want))
		require.NoError(t, w.Close())
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, a *Allocator) {
				r, err := ipc.NewReader(bytes.NewReader(f.Bytes()), ipc.WithAllocator(a))
				require.NoError(t, err)
				require.True(t, r.Next())
				got := r.RecordBatch()
				require.True(t, array.RecordEqual(want, got))
				for _, col := range got.Columns() {
					requireInPlace(t, a, col.Data())
				}
				require.False(t, r.Next())
				r.Release()
				require.Zero(t, a.Stats().Active)
			})
		})
	}
}

func TestIPCFileReaderReadsIntoDeviceMemory(t *testing.T) {
	want := makeRecord(arrowmemory.NewGoAllocator(), 5000)
	var f bytes.Buffer
	w, err := ipc.NewFileWriter(&f, ipc.WithSchema(testSchema))
	require.NoError(t, err)
	require.NoError(t, w.Write(want))
	require.NoError(t, w.Close())
	each(t, func(t *testing.T, a *Allocator) {
		r, err := ipc.NewFileReader(bytes.NewReader(f.Bytes()), ipc.WithAllocator(a))
		require.NoError(t, err)
		got, err := r.RecordBatchAt(0)
		require.NoError(t, err)
		require.True(t, array.RecordEqual(want, got))
		for _, col := range got.Columns() {
			requireInPlace(t, a, col.Data())
		}
		got.Release()
		require.NoError(t, r.Close())
		require.Zero(t, a.Stats().Active)
	})
}

func TestParquetReaderReadsIntoDeviceMemory(t *testing.T) {
	const rows = 5000
	rec := makeRecord(arrowmemory.NewGoAllocator(), rows)
	var f bytes.Buffer
	w, err := pqarrow.NewFileWriter(testSchema, &f, parquet.NewWriterProperties(), pqarrow.DefaultWriterProps())
	require.NoError(t, err)
	require.NoError(t, w.Write(rec))
	require.NoError(t, w.Close())
	each(t, func(t *testing.T, a *Allocator) {
		pf, err := file.NewParquetReader(bytes.NewReader(f.Bytes()), file.WithReadProps(parquet.NewReaderProperties(a)))
		require.NoError(t, err)
		r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{}, a)
		require.NoError(t, err)
		table, err := r.ReadTable(context.Background())
		require.NoError(t, err)
		require.EqualValues(t, rows, table.NumRows())
		for i := range int(table.NumCols()) {
			chunks := table.Column(i).Data().Chunks()
			require.Len(t, chunks, 1)
			require.True(t, array.Equal(rec.Column(i), chunks[0]), "column %d", i)
			requireInPlace(t, a, chunks[0].Data())
		}
		table.Release()
		require.NoError(t, pf.Close())
		require.Zero(t, a.Stats().Active)
	})
}

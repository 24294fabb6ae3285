package work

import (
	"fmt"
	"math/rand/v2"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	arrowmem "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

// Group is the columns that several cases share.
type Group struct {
	Type  arrow.DataType // of column a; String and Boolean stand for the columns s and k
	Rows  int
	Nulls bool // a tenth of the rows of the value columns is null
	ops   []Op
	made  arrow.RecordBatch // the columns in Go's memory
}

// Case is one operation on one group.
type Case struct {
	Op
	*Group
}

// Width is the size of column a in bytes.
func (g *Group) Width() float64 {
	if t, ok := g.Type.(arrow.FixedWidthDataType); ok {
		return float64(t.BitWidth()) / 8
	}
	return 0
}

// Traffic is what an operation must read and write, validity included.
func (c Case) Traffic() Traffic {
	t := c.Bytes(c.Width())
	if c.Nulls {
		for range c.nullable() {
			t.In = append(t.In, bit)
		}
		if !c.Scalar && c.Name != "is_in" {
			out := bit
			if c.Name == "filter" || c.Name == "take" {
				out /= 2
			}
			t.Out = append(t.Out, out)
		}
	}
	return t
}

// nullable is the number of arguments with nulls.
func (c Case) nullable() (n int) {
	for _, a := range c.Args {
		switch a {
		case "a", "b", "s", "k":
			n++
		}
	}
	return n
}

// BytesMoved is the traffic of all rows.
func (c Case) BytesMoved() int64 {
	t, sum := c.Traffic(), 0.0
	for _, b := range append(append([]float64{}, t.In...), t.Out...) {
		sum += b
	}
	return int64(sum * float64(c.Rows))
}

// TypeName is the type as tables show it.
func (c Case) TypeName() string {
	switch c.Name {
	case "string_equal":
		return "utf8"
	case "is_in":
		return "int64"
	}
	return c.Type.String()
}

// Groups lists what is measured at the numbers of rows, for the ops and types that match accepts.
func Groups(rows []int, accept func(op, typ string) bool) (all []*Group) {
	for _, n := range rows {
		for _, nulls := range []bool{false, true} {
			for _, t := range numbers {
				all = appendGroup(all, &Group{Type: t, Rows: n, Nulls: nulls}, accept)
			}
			all = appendGroup(all, &Group{Type: arrow.BinaryTypes.String, Rows: n, Nulls: nulls}, accept)
			all = appendGroup(all, &Group{Type: arrow.FixedWidthTypes.Boolean, Rows: n, Nulls: nulls}, accept)
		}
	}
	return all
}

func appendGroup(all []*Group, g *Group, accept func(op, typ string) bool) []*Group {
	for _, op := range Ops {
		if g.holds(op) && accept(op.Name, Case{op, g}.TypeName()) {
			g.ops = append(g.ops, op)
		}
	}
	if len(g.ops) == 0 {
		return all
	}
	return append(all, g)
}

func (g *Group) holds(op Op) bool {
	switch op.Name {
	case "string_equal":
		return g.Type.ID() == arrow.STRING
	case "is_in":
		return g.Type.ID() == arrow.BOOL
	}
	for _, t := range op.Types {
		if t.ID() == g.Type.ID() {
			return true
		}
	}
	return false
}

// Cases lists the group's.
func (g *Group) Cases() (all []Case) {
	for _, op := range g.ops {
		all = append(all, Case{op, g})
	}
	return all
}

// Columns gives the group's columns, which the caller releases, in an allocator's memory.
func (g *Group) Columns(mem arrowmem.Allocator) arrow.RecordBatch {
	if g.made == nil {
		g.made = g.make(arrowmem.DefaultAllocator)
	}
	if mem == arrowmem.DefaultAllocator {
		g.made.Retain()
		return g.made
	}
	columns := make([]arrow.Array, g.made.NumCols())
	for i := range columns {
		columns[i] = copied(mem, g.made.Column(i))
	}
	return newBatch(g.made.Schema(), columns, g.Rows)
}

// Release forgets the columns.
func (g *Group) Release() {
	if g.made != nil {
		g.made.Release()
		g.made = nil
	}
}

// newBatch takes the columns' references.
func newBatch(s *arrow.Schema, columns []arrow.Array, rows int) arrow.RecordBatch {
	rec := array.NewRecordBatch(s, columns, int64(rows))
	for _, c := range columns {
		c.Release()
	}
	return rec
}

// make makes the columns. The same group gives the same values.
func (g *Group) make(mem arrowmem.Allocator) arrow.RecordBatch {
	rng := rand.New(rand.NewPCG(uint64(g.Rows), uint64(g.Type.ID())))
	var valid []byte
	if g.Nulls {
		valid = make([]byte, (g.Rows+7)/8)
		for i := range g.Rows {
			if rng.IntN(10) != 0 {
				valid[i/8] |= 1 << (i % 8)
			}
		}
	}
	var fields []arrow.Field
	var columns []arrow.Array
	add := func(name string, arr arrow.Array) {
		fields = append(fields, arrow.Field{Name: name, Type: arr.DataType(), Nullable: true})
		columns = append(columns, arr)
	}
	switch g.Type.ID() {
	case arrow.STRING:
		add("s", words(mem, rng, g.Rows, valid))
	case arrow.BOOL:
		add("k", fixed(mem, arrow.PrimitiveTypes.Int64, g.Rows, valid, func(v []int64) {
			for i := range v {
				v[i] = rng.Int64N(1000) * setStep
			}
		}))
	default:
		add("a", g.column(mem, rng, valid, false))
		add("b", g.column(mem, rng, valid, true))
		add("mask", bits(mem, rng, g.Rows))
		add("index", fixed(mem, arrow.PrimitiveTypes.Int64, g.Rows, nil, func(v []int64) {
			for i := range v {
				v[i] = rng.Int64N(int64(g.Rows))
			}
		}))
	}
	return newBatch(arrow.NewSchema(fields, nil), columns, g.Rows)
}

// column is a or b. Values of b are small where products must fit 32 bits.
func (g *Group) column(mem arrowmem.Allocator, rng *rand.Rand, valid []byte, second bool) arrow.Array {
	switch g.Type.ID() {
	case arrow.INT32:
		most := int32(most)
		if second {
			most = 3
		}
		return fixed(mem, g.Type, g.Rows, valid, func(v []int32) {
			for i := range v {
				v[i] = rng.Int32N(most)
			}
		})
	case arrow.INT64:
		return fixed(mem, g.Type, g.Rows, valid, func(v []int64) {
			for i := range v {
				v[i] = rng.Int64N(most)
			}
		})
	}
	return fixed(mem, g.Type, g.Rows, valid, func(v []float64) {
		for i := range v {
			v[i] = rng.Float64()*2000 - 1000
		}
	})
}

// most bounds the integers.
const most = 1_000_000_000

// Half is the value that about half of column a exceeds.
func (g *Group) Half() any {
	switch g.Type.ID() {
	case arrow.INT32:
		return int32(most / 2)
	case arrow.INT64:
		return int64(most / 2)
	}
	return 0.0
}

// Parquet writes the group's columns to a file that every engine reads.
func (g *Group) Parquet(dir string) (path string, err error) {
	rec := g.Columns(arrowmem.DefaultAllocator)
	defer rec.Release()
	f, err := os.CreateTemp(dir, "peers-*.parquet")
	if err != nil {
		return "", err
	}
	defer f.Close()
	w, err := pqarrow.NewFileWriter(rec.Schema(), f,
		parquet.NewWriterProperties(parquet.WithDictionaryDefault(false), parquet.WithStats(false)), pqarrow.DefaultWriterProps())
	if err != nil {
		return "", err
	}
	for at := int64(0); at < rec.NumRows(); at += rowGroup {
		part := rec.NewSlice(at, min(at+rowGroup, rec.NumRows()))
		err := w.Write(part)
		part.Release()
		if err != nil {
			return "", fmt.Errorf("writing %s: %w", f.Name(), err)
		}
	}
	return f.Name(), w.Close()
}

const rowGroup = 1 << 20

package computetest

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// shape says which forms the arguments have; its name is that of the first two.
type shape struct {
	name     string
	forms    [3]Form
	null     [3]bool // the scalar is null
	noChunks bool
	mismatch bool // the second argument is one row longer
}

var shapes = []shape{
	{name: "array-array", forms: [3]Form{Array, Array, Array}},
	{name: "array-scalar", forms: [3]Form{Array, Scalar, Array}},
	{name: "scalar-array", forms: [3]Form{Scalar, Array, Array}},
	{name: "scalar-scalar", forms: [3]Form{Scalar, Scalar, Scalar}},
	{name: "array-null", forms: [3]Form{Array, Scalar, Scalar}, null: [3]bool{1: true}},
	{name: "null-array", forms: [3]Form{Scalar, Array, Scalar}, null: [3]bool{0: true}},
	{name: "chunked-chunked", forms: [3]Form{Chunked, Chunked, Chunked}},
	{name: "chunked-array", forms: [3]Form{Chunked, Array, Scalar}},
	{name: "array-chunked", forms: [3]Form{Array, Chunked, Array}},
	{name: "chunked-scalar", forms: [3]Form{Chunked, Scalar, Array}},
	{name: "nochunks", forms: [3]Form{Chunked, Chunked, Chunked}, noChunks: true},
	{name: "mismatch", forms: [3]Form{Array, Array, Array}, mismatch: true},
}

// nullRatio is the share of nulls in each argument.
type nullRatio [2]float64

func (r nullRatio) String() string {
	if r[0] == r[1] {
		return fmt.Sprint(r[0])
	}
	return fmt.Sprintf("%v,%v", r[0], r[1])
}

// grid is the values of each dimension of the covering array.
type grid struct {
	lengths, offsets []int
	nulls            []nullRatio
	flavours         []flavour
	shapes           []shape
	options          int
	types            func(Signature) bool
}

var full = grid{
	lengths:  []int{0, 1, 31, 32, 33, 63, 64, 65, 1023, 1024, 1025, 4095, 4096, 4097},
	offsets:  []int{0, 1, 7, 8, 31, 32, 33, 63, 64},
	nulls:    []nullRatio{{0, 0}, {0.3, 0.3}, {1, 1}, {0.3, 0}, {0, 0.3}},
	flavours: []flavour{random, specials, constant, small},
	shapes:   shapes,
	options:  len(aggregateOptions),
	types:    func(Signature) bool { return true },
}

// short is what -short runs.
var short = grid{
	lengths:  []int{0, 33, 64, 1025},
	offsets:  []int{0, 7, 33},
	nulls:    []nullRatio{{0, 0}, {0.3, 0.3}},
	flavours: []flavour{specials, small},
	shapes:   []shape{shapes[0], shapes[1], shapes[2], shapes[6]},
	options:  2,
	types: func(s Signature) bool {
		switch s[0].ID() {
		case arrow.BOOL, arrow.INT8, arrow.INT64, arrow.FLOAT32, arrow.FLOAT64:
			return true
		}
		return false
	},
}

// Case is one call to be tried.
type Case struct {
	row     *Row
	types   Signature
	length  int
	offset  int
	nulls   nullRatio
	flavour flavour
	shape   shape
	option  int // index into row.Options
}

// cases are the cases of the covering array, by function.
func (g *grid) cases() map[string][]Case {
	var signatures []Signature
	index := map[string]int{}
	has := map[[2]int]bool{}
	for i := range Table {
		for _, s := range Table[i].Types {
			if !g.types(s) {
				continue
			}
			key := s.String() + fmt.Sprint(len(s))
			if _, ok := index[key]; !ok {
				index[key] = len(signatures)
				signatures = append(signatures, s)
			}
			has[[2]int{i, index[key]}] = true
		}
	}
	vectors := cover(
		[]int{len(Table), len(signatures), len(g.lengths), len(g.offsets), len(g.nulls), len(g.flavours), len(g.shapes), g.options},
		func(row, types int) bool { return has[[2]int{row, types}] })
	out := map[string][]Case{}
	for _, v := range vectors {
		c := Case{
			row: &Table[v[0]], types: signatures[v[1]], length: g.lengths[v[2]], offset: g.offsets[v[3]],
			nulls: g.nulls[v[4]], flavour: g.flavours[v[5]], shape: g.shapes[v[6]], option: v[7],
		}
		out[c.row.Name] = append(out[c.row.Name], c)
	}
	for i := range Table {
		row := &Table[i]
		for _, s := range row.Types {
			if g.types(s) {
				out[row.Name] = append(out[row.Name], core(row, s)...)
			}
		}
	}
	return out
}

// core are the cases that no function and types go without: columns with nulls of values that matter, under all options.
// A case of the covering array may be about something else: no rows, all null, one value.
func core(row *Row, types Signature) []Case {
	var out []Case
	for option := range max(1, len(row.optionsFor(types))) {
		for _, f := range []flavour{specials, small} {
			out = append(out, Case{
				row: row, types: types, length: 257, offset: 7, nulls: nullRatio{0.3, 0.3}, flavour: f, shape: shapes[0], option: option,
			})
		}
	}
	return out
}

// name is the name of the case's test below its function's.
func (c *Case) name() string {
	s := fmt.Sprintf("%s/%s/len=%d/off=%d/nulls=%s/%s",
		readable.Replace(c.types.String()), c.shape.name, c.length, c.offset, c.nulls, c.flavour)
	if n := len(c.row.optionsFor(c.types)); n > 0 {
		s += fmt.Sprintf("/opts=%d", c.option%n)
	}
	return s
}

// readable makes type names that mean themselves in a regular expression.
var readable = strings.NewReplacer("[", "-", "]", "", ", tz=", "-", "/", "_", ", ordered=false", "",
	"<values=", "-", ", indices=", "-", ">", "")

package order

import (
	"bytes"
	"encoding/binary"
)

// strings orders rows by their strings: by 8 bytes at once, then those whose bytes are equal by the next 8.
func (s *sorter[I]) strings(x, x2 []I, key *Key) {
	n := len(x)
	if n < 2 {
		return
	}
	t := stringSort[I]{at: key.Strings}
	if key.Descending {
		t.flip = ^uint64(0)
	}
	k, k2 := s.k[:n], s.k2[:n]
	s.split(n, func(_, start, end int) {
		for i, row := range x[start:end] {
			k[start+i] = t.prefix(row, 0)
		}
	})
	sorted, inSecond := radix(s, x, x2, k, k2, different(k), true)
	if inSecond {
		s.split(n, func(_, start, end int) { copy(x[start:end], x2[start:end]) })
	}
	s.split(n, func(_, start, end int) {
		// a run of equal keys belongs to the range that it starts in
		for ; start > 0 && start < end && sorted[start] == sorted[start-1]; start++ {
		}
		for ; start < end && end < n && sorted[end] == sorted[end-1]; end++ {
		}
		t.runs(x[start:end], sorted[start:end], 0)
	})
}

func different(k []uint64) (d uint64) {
	for _, v := range k {
		d |= v ^ k[0]
	}
	return d
}

// stringSort orders rows by strings; flip has all bits set where the order is turned around.
type stringSort[I index] struct {
	at   func(row int) []byte
	flip uint64
}

// prefix is 8 bytes of a string as a number that orders like them; what is missing counts as zeros.
func (t *stringSort[I]) prefix(row I, depth int) uint64 {
	b := t.at(int(row))[depth:]
	if len(b) >= 8 {
		return binary.BigEndian.Uint64(b) ^ t.flip
	}
	var v uint64
	for i, c := range b {
		v |= uint64(c) << (56 - 8*i)
	}
	return v ^ t.flip
}

// runs orders rows that are in the order of the 8 bytes at depth, which are k, by the rest.
func (t *stringSort[I]) runs(x []I, k []uint64, depth int) {
	for i := 0; i < len(k); {
		j := i + 1
		for j < len(k) && k[j] == k[i] {
			j++
		}
		if j-i > 1 {
			t.run(x[i:j], depth)
		}
		i = j
	}
}

// run orders rows whose strings have the same 8 bytes at depth, where shorter ones were filled up with zeros.
func (t *stringSort[I]) run(x []I, depth int) {
	if len(x) <= insertion {
		t.insert(x, depth)
		return
	}
	const longer = 9 // strings that go on behind the 8 bytes
	var counts, at [longer + 1]int
	left := func(row I) int { return min(len(t.at(int(row)))-depth, longer) }
	for _, row := range x {
		counts[left(row)]++
	}
	next := 0
	for c := range counts {
		if t.flip != 0 {
			c = longer - c
		}
		at[c] = next
		next += counts[c]
	}
	group := counts[longer]
	first := at[longer]
	if group != len(x) {
		rows := append([]I(nil), x...)
		for _, row := range rows {
			c := left(row)
			x[at[c]] = row
			at[c]++
		}
	}
	if group < 2 {
		return
	}
	x, depth = x[first:first+group], depth+8
	k := make([]uint64, group)
	for i, row := range x {
		k[i] = t.prefix(row, depth)
	}
	if d := different(k); d != 0 {
		s := &sorter[I]{workers: 1}
		x2 := make([]I, group)
		sorted, inSecond := radix(s, x, x2, k, make([]uint64, group), d, true)
		if k = sorted; inSecond {
			copy(x, x2)
		}
	}
	t.runs(x, k, depth)
}

// insert orders few rows by their strings from depth on.
func (t *stringSort[I]) insert(x []I, depth int) {
	for i := 1; i < len(x); i++ {
		row, j := x[i], i
		s := t.at(int(row))[depth:]
		for ; j > 0 && t.after(t.at(int(x[j-1]))[depth:], s); j-- {
			x[j] = x[j-1]
		}
		x[j] = row
	}
}

// after says that a belongs after b.
func (t *stringSort[I]) after(a, b []byte) bool {
	if t.flip != 0 {
		return bytes.Compare(a, b) < 0
	}
	return bytes.Compare(a, b) > 0
}

// Package order puts rows in order: stably, by one or more keys, with a radix sort over several goroutines. The order
// depends on the keys alone.
package order

import (
	"math"
	"sync"
	"unsafe"
)

// Class tells rows without a value from the others.
type Class uint8

// The classes in the order in which they end a column, or, turned around, begin it.
const (
	Value Class = iota
	NaN
	Null
)

// Key is what rows are ordered by: one of Short, Words and Strings, for all rows.
type Key struct {
	Short   []uint32
	Words   [][]uint64           // the first decides, then the next
	Strings func(row int) []byte // by bytes; one that begins another comes first
	Classes []Class              // nil: every row has a value
	// Descending turns the order of values around, not that of equal ones.
	Descending bool
	// NullsFirst puts nulls before all else, NaN after them; otherwise NaN comes after the values, then nulls.
	NullsFirst bool
}

// Memory gives scratch of n bytes, aligned to 8, that lives until the sort has ended.
type Memory func(n int) ([]byte, error)

// index is the number of a row.
type index interface{ uint32 | uint64 }

// pattern is a word of a key.
type pattern interface{ uint32 | uint64 }

// Rows writes the numbers of rows in the order of the keys, the first of which counts most, with at most that many
// goroutines. stop is asked now and then whether to give up.
func Rows(out []uint64, keys []Key, workers int, mem Memory, stop func() error) error {
	if uint64(len(out)) <= math.MaxUint32 {
		return rows[uint32](out, keys, workers, mem, stop)
	}
	return rows[uint64](out, keys, workers, mem, stop)
}

// sorter is the state of one sort.
type sorter[I index] struct {
	workers int
	x, x2   []I      // the rows in their order, and scratch
	k, k2   []uint64 // keys of rows, and scratch
}

func rows[I index](out []uint64, keys []Key, workers int, mem Memory, stop func() error) (err error) {
	n := len(out)
	s := &sorter[I]{workers: workers}
	for _, p := range []*[]I{&s.x, &s.x2} {
		if *p, err = take[I](mem, n); err != nil {
			return err
		}
	}
	for _, p := range []*[]uint64{&s.k, &s.k2} {
		if *p, err = take[uint64](mem, n); err != nil {
			return err
		}
	}
	s.split(n, func(_, start, end int) {
		for i := start; i < end; i++ {
			s.x[i] = I(i)
		}
	})
	// Stable sorts by the keys that count less come first.
	for i := len(keys) - 1; i >= 0; i-- {
		if err := stop(); err != nil {
			return err
		}
		s.by(&keys[i])
	}
	s.split(n, func(_, start, end int) {
		for i, row := range s.x[start:end] {
			out[start+i] = uint64(row)
		}
	})
	return nil
}

// take is scratch for n values.
func take[T any](mem Memory, n int) ([]T, error) {
	var t T
	b, err := mem(n * int(unsafe.Sizeof(t)))
	if err != nil || n == 0 {
		return nil, err
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), nil
}

// alone is the number of rows below which one goroutine does it all.
const alone = 1 << 15

// split cuts n rows into one range for each worker and runs f on all of them at once.
func (s *sorter[I]) split(n int, f func(worker, start, end int)) {
	workers := s.workersFor(n)
	if workers == 1 {
		f(0, 0, n)
		return
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() { f(w, n*w/workers, n*(w+1)/workers) })
	}
	wg.Wait()
}

func (s *sorter[I]) workersFor(n int) int { return max(1, min(s.workers, n/alone)) }

// by orders the rows by one key.
func (s *sorter[I]) by(key *Key) {
	from, to := s.partition(key)
	x, x2 := s.x[from:to], s.x2[from:to]
	switch {
	case key.Strings != nil:
		s.strings(x, x2, key)
	case key.Short != nil:
		sortWords(s, x, x2, as[uint32](s.k), as[uint32](s.k2), key.Short, key.Descending)
	default:
		for i := len(key.Words) - 1; i >= 0; i-- {
			sortWords(s, x, x2, s.k, s.k2, key.Words[i], key.Descending)
		}
	}
}

// as is memory as words of half the size.
func as[K pattern](k []uint64) []K {
	if len(k) == 0 {
		return nil
	}
	return unsafe.Slice((*K)(unsafe.Pointer(unsafe.SliceData(k))), len(k))
}

// partition moves the rows without a value to where they belong and says where those with one are.
func (s *sorter[I]) partition(key *Key) (from, to int) {
	if key.Classes == nil {
		return 0, len(s.x)
	}
	var counts [3]int
	for _, row := range s.x {
		counts[key.Classes[row]]++
	}
	at := [3]int{0, counts[Value], counts[Value] + counts[NaN]}
	if key.NullsFirst {
		at = [3]int{counts[Null] + counts[NaN], counts[Null], 0}
	}
	from, to = at[Value], at[Value]+counts[Value]
	if to-from == len(s.x) {
		return from, to
	}
	for _, row := range s.x {
		c := key.Classes[row]
		s.x2[at[c]] = row
		at[c]++
	}
	s.x, s.x2 = s.x2, s.x
	return from, to
}

// sortWords orders rows by one word of each.
func sortWords[I index, K pattern](s *sorter[I], x, x2 []I, k, k2, words []K, descending bool) {
	n := len(x)
	if n < 2 {
		return
	}
	k, k2 = k[:n], k2[:n]
	var flip K
	if descending {
		flip = ^flip
	}
	different := make([]K, s.workersFor(n))
	first := words[x[0]] ^ flip
	s.split(n, func(w, start, end int) {
		var d K
		for i, row := range x[start:end] {
			v := words[row] ^ flip
			k[start+i] = v
			d |= v ^ first
		}
		different[w] = d
	})
	var d K
	for _, v := range different {
		d |= v
	}
	if _, inSecond := radix(s, x, x2, k, k2, d, false); inSecond {
		s.split(n, func(_, start, end int) { copy(x[start:end], x2[start:end]) })
	}
}

package gpu

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
)

// onceMap computes a value per key, exactly once however many callers ask first. A hit is one atomic load and one map
// look-up, allocates nothing and takes no lock: the map is copied when it grows, which is rare beside what a miss costs.
type onceMap[K comparable, V any] struct {
	known atomic.Pointer[map[K]*onceEntry[V]]
	mu    sync.Mutex // serialises growth
}

type onceEntry[V any] struct {
	ready atomic.Bool
	mu    sync.Mutex // held while the value is computed
	value V
	err   error
}

// peek returns the entry whose value is ready, or nil.
func (m *onceMap[K, V]) peek(key K) *onceEntry[V] {
	if known := m.known.Load(); known != nil {
		if e := (*known)[key]; e != nil && e.ready.Load() {
			return e
		}
	}
	return nil
}

// entry finds or makes the entry of a key.
func (m *onceMap[K, V]) entry(key K) *onceEntry[V] {
	m.mu.Lock()
	defer m.mu.Unlock()
	var old map[K]*onceEntry[V]
	if known := m.known.Load(); known != nil {
		old = *known
	}
	if e := old[key]; e != nil {
		return e
	}
	grown := make(map[K]*onceEntry[V], len(old)+1)
	maps.Copy(grown, old)
	e := new(onceEntry[V])
	grown[key] = e
	m.known.Store(&grown)
	return e
}

// get returns the value of key, computing it on the first call. A failure is an answer too and stays, unless it is
// transient: then the next caller tries again.
func (m *onceMap[K, V]) get(key K, compute func() (V, error)) (V, error) {
	if e := m.peek(key); e != nil {
		return e.value, e.err
	}
	e := m.entry(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ready.Load() {
		return e.value, e.err
	}
	e.err = fmt.Errorf("gpu: panic while computing %v", key) // stays if compute panics
	v, err := compute()
	e.value, e.err = v, err
	if !transient(err) {
		e.ready.Store(true)
	}
	return v, err
}

// each visits every value that is ready.
func (m *onceMap[K, V]) each(visit func(K, V, error)) {
	known := m.known.Load()
	if known == nil {
		return
	}
	for key, e := range *known {
		if e.ready.Load() {
			visit(key, e.value, e.err)
		}
	}
}

// transient says that an error tells of the moment, not of the key it was met with.
func transient(err error) bool {
	for _, moment := range []error{ErrOutOfMemory, ErrTimeout, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, moment) {
			return true
		}
	}
	return false
}

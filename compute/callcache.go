package compute

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/broadhead-go/broadhead/msl"
)

// callKey names a resolved call by what it depends on, for types that have no parameters.
type callKey struct {
	args [maxInputs]arrow.Type
	opts optionsKey
}

// optionsKey is any of the engine's options as a comparable value.
type optionsKey struct {
	kind      optionsKind
	skipNulls bool
	minCount  uint32
	mode      uint8 // of count, or of the filter
	nanIsNull bool
	to        arrow.Type // of a cast
	forgives  uint8
	digits    int64
}

// optionsKind is the type of options; none were given where it is 0.
type optionsKind uint8

const (
	aggregateKind optionsKind = iota + 1
	countKind
	filterKind
	takeKind
	nullKind
	castKind
	roundKind
)

// keyOfOptions is the key of options, if they are the engine's.
func keyOfOptions(opts FunctionOptions) (optionsKey, bool) {
	switch o := opts.(type) {
	case nil:
		return optionsKey{}, true
	case *ScalarAggregateOptions:
		if o != nil {
			return optionsKey{kind: aggregateKind, skipNulls: o.SkipNulls, minCount: o.MinCount}, true
		}
	case *CountOptions:
		if o != nil {
			return optionsKey{kind: countKind, mode: uint8(o.Mode)}, true
		}
	case *FilterOptions:
		if o != nil {
			return optionsKey{kind: filterKind, mode: uint8(o.NullSelection)}, true
		}
	case *TakeOptions:
		if o != nil {
			return optionsKey{kind: takeKind}, true
		}
	case *NullOptions:
		if o != nil {
			return optionsKey{kind: nullKind, nanIsNull: o.NanIsNull}, true
		}
	case *CastOptions:
		if o != nil && o.ToType != nil && castable(o.ToType) {
			return optionsKey{kind: castKind, to: o.ToType.ID(), forgives: uint8(btoi(o.AllowIntOverflow) | btoi(o.AllowFloatTruncate)<<1)}, true
		}
	case *RoundOptions:
		if o != nil {
			return optionsKey{kind: roundKind, digits: o.NDigits, mode: uint8(o.Mode)}, true
		}
	}
	return optionsKey{}, false
}

// maxCalls bounds a cache: options may have any MinCount.
const maxCalls = 256

// callCache keeps a function's resolved calls, so that small calls do not resolve types again.
type callCache struct {
	last  atomic.Pointer[cachedCall] // programs call with the same types again and again
	calls atomic.Pointer[map[callKey]*cachedCall]
	mu    sync.Mutex
}

type cachedCall struct {
	key  callKey
	call *call
}

func (c *callCache) get(k *callKey) *call {
	if l := c.last.Load(); l != nil && l.key == *k {
		return l.call
	}
	if m := c.calls.Load(); m != nil {
		if found := (*m)[*k]; found != nil {
			c.last.Store(found)
			return found.call
		}
	}
	return nil
}

func (c *callCache) put(k callKey, v *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := map[callKey]*cachedCall{}
	if m := c.calls.Load(); m != nil {
		if len(*m) >= maxCalls {
			return
		}
		next = maps.Clone(*m)
	}
	next[k] = &cachedCall{k, v}
	c.calls.Store(&next)
}

// cacheKey is the key of a call, if its types have no parameters and its options are known.
func cacheKey(opts FunctionOptions, args []Datum) (k callKey, ok bool) {
	if k.opts, ok = keyOfOptions(opts); !ok {
		return k, false
	}
	if len(args) > len(k.args) {
		return k, false
	}
	for i, a := range args {
		al, ok := a.(ArrayLikeDatum)
		if !ok || !k.argument(i, al.Type()) {
			return k, false
		}
	}
	return k, true
}

// argument adds an argument's type, if it has no parameters.
func (k *callKey) argument(i int, t arrow.DataType) bool {
	id := t.ID()
	if i >= len(k.args) || id < arrow.BOOL || id > arrow.FLOAT64 || storages[id] == msl.NoType {
		return false
	}
	k.args[i] = id
	return true
}

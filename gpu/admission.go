package gpu

// Admission remembers which kernels have proved themselves. A key is tested the first time it is asked for; when the
// test fails the key is refused for the rest of the process. The zero value is ready and safe for concurrent use.
type Admission[K comparable] struct {
	verdicts onceMap[K, struct{}]
}

// Refusal is a key that failed its test.
type Refusal[K comparable] struct {
	Key    K
	Reason error
}

// Check returns nil when key is admitted and the reason when it is not. The first call runs test; other callers of the
// same key wait for its verdict, so test must not ask for the key it judges. A known verdict costs one look-up and
// allocates nothing. ErrOutOfMemory, ErrTimeout and a cancelled context are passed on but give no verdict: the next
// call tests again.
func (a *Admission[K]) Check(key K, test func() error) error {
	if e := a.verdicts.peek(key); e != nil {
		return e.err
	}
	_, err := a.verdicts.get(key, func() (struct{}, error) { return struct{}{}, test() })
	return err
}

// Known is the verdict on a key, if there is one.
func (a *Admission[K]) Known(key K) (verdict error, known bool) {
	if e := a.verdicts.peek(key); e != nil {
		return e.err, true
	}
	return nil, false
}

// Refused lists the keys that failed, in no order.
func (a *Admission[K]) Refused() []Refusal[K] {
	var list []Refusal[K]
	a.verdicts.each(func(key K, _ struct{}, err error) {
		if err != nil {
			list = append(list, Refusal[K]{key, err})
		}
	})
	return list
}

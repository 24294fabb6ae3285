package golden

import (
	"context"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/broadhead-go/broadhead/compute"
)

// mem holds the arguments and expected results.
var mem = memory.DefaultAllocator

// Outcome is what became of one case.
type Outcome int

const (
	Passed Outcome = iota
	Failed
	// Unsupported is an unknown function, or an input type that no function
	// is claimed for; never an option, a shape or an error class.
	Unsupported
)

// Runner runs one case. The error says why the outcome is not Passed.
type Runner func(context.Context, *Case) (Outcome, error)

// Run calls the function of one case in this process and compares. A panic on
// a goroutine that the call started cannot be caught here: see Isolated.
func Run(ctx context.Context, c *Case) (outcome Outcome, err error) {
	failure, err := c.failure()
	if err != nil {
		return failure, err
	}
	defer func() {
		if r := recover(); r != nil {
			outcome, err = failure, fmt.Errorf("panic: %v", r)
		}
	}()
	if err := c.check(ctx); err != nil {
		return failure, err
	}
	return Passed, nil
}

// failure is the outcome of a case that does not pass. The error says that it
// need not be run.
func (c *Case) failure() (Outcome, error) {
	if _, ok := names[c.Function]; !ok {
		return Unsupported, fmt.Errorf("unknown function")
	}
	for i := range c.Args {
		typ, err := c.Args[i].columnType()
		if err != nil {
			return Failed, fmt.Errorf("argument %d: %w", i, err)
		}
		if typ != nil && !supportedBy(c.Function, typ) {
			return Unsupported, nil
		}
	}
	if c.foreignCast() {
		return Unsupported, nil
	}
	return Failed, nil
}

func (c *Case) check(ctx context.Context) error {
	args := make([]compute.Datum, len(c.Args))
	for i := range c.Args {
		var err error
		if args[i], err = c.Args[i].datum(); err != nil {
			return fmt.Errorf("argument %d: %w", i, err)
		}
	}
	got, err := c.call(ctx, args)
	if c.Expect.Error != "" {
		return compareErrors(&c.Expect, got, err)
	}
	if err != nil {
		return fmt.Errorf("got error %w", err)
	}
	defer got.Release()
	want, err := c.Expect.datum()
	if err != nil {
		return fmt.Errorf("expected result: %w", err)
	}
	return compareDatums(want, got, c.Tolerance)
}

func (c *Case) call(ctx context.Context, args []compute.Datum) (compute.Datum, error) {
	if c.Function == "Table.filter" {
		return c.filterTable(ctx, args)
	}
	opts, err := c.options(args)
	if err != nil {
		return nil, err
	}
	return compute.CallFunction(ctx, names[c.Function], opts, args...)
}

// errorClasses maps pyarrow's exceptions to the sentinels that an error may
// wrap. arrow-go's compute package never uses ErrType: what C++ calls a type
// error is not implemented or invalid there, and stays so here.
var errorClasses = map[string][]error{
	"ArrowInvalid":             {arrow.ErrInvalid},
	"ArrowNotImplementedError": {arrow.ErrNotImplemented},
	"ArrowIndexError":          {arrow.ErrIndex},
	"ArrowKeyError":            {arrow.ErrKey},
	"ArrowTypeError":           {arrow.ErrType, arrow.ErrNotImplemented, arrow.ErrInvalid},
}

func compareErrors(want *Payload, got compute.Datum, err error) error {
	if err == nil {
		defer got.Release()
		return fmt.Errorf("got %s, want %s: %s", got, want.Error, want.Message)
	}
	for _, class := range errorClasses[want.Error] {
		if errors.Is(err, class) {
			return nil
		}
	}
	return fmt.Errorf("got error %q, want %s: %s", err, want.Error, want.Message)
}

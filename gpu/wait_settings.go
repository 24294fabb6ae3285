package gpu

import (
	"sync/atomic"
	"time"
)

const (
	maxSpinMicroseconds     = 1_000_000
	defaultSpinMicroseconds = 300 // covers a small operation's round trip; what takes longer does not notice a wake-up
	defaultCommandTimeout   = time.Minute
)

var (
	lowLatency       atomic.Bool
	spinMicroseconds atomic.Int64
	commandTimeout   atomic.Int64
)

func init() {
	lowLatency.Store(envValue(envLowLatency, true, parseSwitch))
	spinMicroseconds.Store(envValue(envSpin, defaultSpinMicroseconds, parseSpin))
	commandTimeout.Store(int64(envValue(envTimeout, defaultCommandTimeout, parseTimeout)))
}

// SetLowLatencyWait chooses between the two ways to wait for a device. On (the default, BROADHEAD_LOW_LATENCY) a waiter
// polls for up to SpinMicroseconds before it blocks, which saves the wake-up of a thread and costs a core meanwhile.
// Off, it blocks at once.
func SetLowLatencyWait(on bool) { lowLatency.Store(on) }

// LowLatencyWait says whether waiters poll before they block.
func LowLatencyWait() bool { return lowLatency.Load() }

// SetSpinMicroseconds sets how long a waiter polls before it blocks, from 0 to one second (values outside are clamped).
// The default is 300, or BROADHEAD_SPIN_US.
func SetSpinMicroseconds(us int) {
	spinMicroseconds.Store(int64(min(max(us, 0), maxSpinMicroseconds)))
}

// SpinMicroseconds says how long a waiter polls before it blocks.
func SpinMicroseconds() int { return int(spinMicroseconds.Load()) }

// SetCommandTimeout sets how long a device may take for its oldest commit before it counts as lost: those who wait get
// ErrTimeout, later calls ErrDeviceLost, and memory that the work may still write stays until it ends. 0 means for ever.
// The default is one minute, or BROADHEAD_COMMAND_TIMEOUT ("30s").
func SetCommandTimeout(d time.Duration) { commandTimeout.Store(int64(max(d, 0))) }

// CommandTimeout says how long a device may take for its oldest commit; 0 means for ever.
func CommandTimeout() time.Duration { return time.Duration(commandTimeout.Load()) }

// spinBudget is how long a waiter may poll now; 0 means not at all.
func spinBudget() time.Duration {
	if !lowLatency.Load() {
		return 0
	}
	return time.Duration(spinMicroseconds.Load()) * time.Microsecond
}

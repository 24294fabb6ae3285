package gpu

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The environment variables this package reads.
const (
	envDevice     = "BROADHEAD_DEVICE"
	envLowLatency = "BROADHEAD_LOW_LATENCY"
	envSpin       = "BROADHEAD_SPIN_US"
	envTimeout    = "BROADHEAD_COMMAND_TIMEOUT"
)

var envErrs struct {
	sync.Mutex
	list []error
}

// EnvErrors lists the BROADHEAD_* variables this package could not understand. A bad value never stops a program: the
// default stays in force.
func EnvErrors() []error {
	envErrs.Lock()
	defer envErrs.Unlock()
	return append([]error(nil), envErrs.list...)
}

// envValue parses a variable. Unset and empty mean the default; so does a bad value, which is remembered for EnvErrors.
func envValue[T any](name string, def T, parse func(string) (T, error)) T {
	text := strings.TrimSpace(os.Getenv(name))
	if text == "" {
		return def
	}
	v, err := parse(text)
	if err != nil {
		envErrs.Lock()
		envErrs.list = append(envErrs.list, fmt.Errorf("gpu: %s=%q: %w; %v stays in force", name, text, err, def))
		envErrs.Unlock()
		return def
	}
	return v
}

func parseSwitch(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "1", "true", "on", "yes":
		return true, nil
	case "0", "false", "off", "no":
		return false, nil
	}
	return false, fmt.Errorf("want 0 or 1")
}

func parseSpin(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > maxSpinMicroseconds {
		return 0, fmt.Errorf("want microseconds from 0 to %d", maxSpinMicroseconds)
	}
	return n, nil
}

func parseTimeout(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("want a duration such as 30s, or 0 for none")
	}
	return d, nil
}

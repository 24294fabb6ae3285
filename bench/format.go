package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// grouped writes a number with commas between its thousands.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	digits := strings.TrimPrefix(s, "-")
	var b strings.Builder
	b.WriteString(s[:len(s)-len(digits)])
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// sized writes a number of bytes.
func sized(n int64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	f, i := float64(n)/1024, 0
	for f >= 1024 && i < len(units)-1 {
		f /= 1024
		i++
	}
	return fmt.Sprintf("%.4g %ciB", f, units[i])
}

// timed writes a time with three digits that count.
func timed(d time.Duration) string {
	step := time.Duration(1)
	for limit := 1000 * time.Nanosecond; d >= limit && step < time.Second; limit *= 10 {
		step *= 10
	}
	return d.Round(step).String()
}

// plural writes a number of things.
func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return grouped(int64(n)) + " " + what
}

// parseRows reads a number of rows as 1000, 1_000 or 1e3.
func parseRows(text string) (int, error) {
	if n, err := strconv.ParseInt(text, 0, 64); err == nil && int64(int(n)) == n {
		return int(n), nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != float64(int(f)) {
		return 0, fmt.Errorf("%q is no number of rows", text)
	}
	return int(f), nil
}

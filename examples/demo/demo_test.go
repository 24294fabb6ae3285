package main

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/stretchr/testify/require"

	"github.com/broadhead-go/broadhead/examples/data"
)

// wanted are the demo's lines, computed by a loop over the column.
func wanted(t *testing.T) map[string]string {
	f, err := ipc.NewFileReader(bytes.NewReader(data.Flights))
	require.NoError(t, err)
	defer f.Close()
	require.Equal(t, 1, f.NumRecords())
	flights, err := f.RecordBatchAt(0)
	require.NoError(t, err)
	defer flights.Release()
	require.Equal(t, "delay", flights.ColumnName(0))
	delay := flights.Column(0).(*array.Int16)
	require.Zero(t, delay.NullN())

	var sum, over, overSum int64
	low, high := int64(delay.Value(0)), int64(delay.Value(0))
	for _, v := range delay.Int16Values() {
		d := int64(v)
		sum += d
		low, high = min(low, d), max(high, d)
		if d > 60 {
			over++
			overSum += d
		}
	}
	return map[string]string{
		"count(delay)":               fmt.Sprint(delay.Len()),
		"sum(delay)":                 fmt.Sprint(sum),
		"mean(delay)":                fmt.Sprint(float64(sum) / float64(delay.Len())),
		"min_max(delay)":             fmt.Sprintf("%d to %d", low, high),
		"late = delay > 60":          fmt.Sprintf("%d rows of bool", delay.Len()),
		"over = filter(delay, late)": fmt.Sprintf("%d rows of int16", over),
		"count(over)":                fmt.Sprint(over),
		"sum(over)":                  fmt.Sprint(overSum),
	}
}

// line is a row of the table: label, result, device, number of the reason.
var line = regexp.MustCompile(`(?m)^(\S.*?) {3,}(\S.*?) {3,}(\S+) +\[(\d+)\]$`)

func check(t *testing.T, text string) (devices []string) {
	got := map[string]string{}
	for _, m := range line.FindAllStringSubmatch(text, -1) {
		got[m[1]] = m[2]
		devices = append(devices, m[3])
		require.Regexp(t, `(?m)^\[`+m[4]+`\] \S`, text, "the reason of %s", m[1])
	}
	require.Equal(t, wanted(t), got, text)
	return devices
}

func TestOnCPU(t *testing.T) {
	t.Setenv("BROADHEAD_DEVICE", "cpu")
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), &out, data.Flights))
	for _, d := range check(t, out.String()) {
		require.Equal(t, "cpu", d)
	}
	require.Contains(t, out.String(), "BROADHEAD_DEVICE=cpu")
	require.Contains(t, out.String(), "no GPU to compare with")
}

func TestBadFile(t *testing.T) {
	t.Setenv("BROADHEAD_DEVICE", "cpu")
	for name, file := range map[string][]byte{
		"empty": nil, "cut": data.Flights[:len(data.Flights)/2], "text": []byte("delay\n1\n2\n3\n"),
	} {
		require.Error(t, run(context.Background(), &bytes.Buffer{}, file), name)
	}
}

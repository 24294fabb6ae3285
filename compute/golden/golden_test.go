package golden

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// workerEnv turns this test binary into the child of an Isolated runner.
const workerEnv = "BROADHEAD_TEST_GOLDEN_WORKER"

func TestMain(m *testing.M) {
	switch os.Getenv(workerEnv) {
	case "serve":
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "one": // answers one case, then dies as if that case had left a goroutine behind
		in := bufio.NewReader(os.Stdin)
		line, err := in.ReadString('\n')
		if err != nil {
			os.Exit(0)
		}
		if err := Serve(context.Background(), strings.NewReader(line), os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		if _, err := in.ReadByte(); err != nil {
			os.Exit(0)
		}
		os.Exit(2)
	case "crash":
		if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
			os.Exit(0)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			panic("lost on a goroutine")
		}()
		<-done
	}
	os.Exit(m.Run())
}

func isolated(t *testing.T, mode string) *Isolated {
	t.Helper()
	t.Setenv(workerEnv, mode)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return NewIsolated(self)
}

func closeChild(t *testing.T, w *Isolated) {
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}

func TestShippedCases(t *testing.T) {
	w := isolated(t, "serve")
	defer closeChild(t, w)
	ran := map[string]int{}
	err := Each(Shipped(), func(c *Case) error {
		outcome, err := w.Run(t.Context(), c)
		ran[c.Function]++
		if outcome == Failed {
			t.Errorf("%s %s: %v", c.ID, c.Options, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range names {
		if ran[name] == 0 {
			t.Errorf("no shipped case of %s", name)
		}
	}
}

func TestDyingChildFailsItsCaseOnly(t *testing.T) {
	c := firstCase(t)
	w := isolated(t, "crash")
	defer closeChild(t, w)
	for range 2 {
		outcome, err := w.Run(t.Context(), c)
		if outcome != Failed || err == nil || !strings.Contains(err.Error(), "lost on a goroutine") {
			t.Fatalf("outcome %d, error %v", outcome, err)
		}
	}
	t.Setenv(workerEnv, "serve")
	if outcome, err := w.Run(t.Context(), c); outcome != Passed {
		t.Fatalf("outcome %d, error %v", outcome, err)
	}
}

func TestLateDeathIsNotTheNextCases(t *testing.T) {
	c := firstCase(t)
	w := isolated(t, "one")
	defer closeChild(t, w)
	for i := range 3 {
		if outcome, err := w.Run(t.Context(), c); outcome != Passed {
			t.Fatalf("case %d: outcome %d, error %v", i, outcome, err)
		}
	}
}

func TestReport(t *testing.T) {
	var out bytes.Buffer
	run := func(_ context.Context, c *Case) (Outcome, error) {
		switch {
		case strings.HasSuffix(c.ID, "/truth"):
			return Failed, fmt.Errorf("got this")
		case strings.Contains(c.ID, "mismatch"):
			return Unsupported, fmt.Errorf("no such type")
		}
		return Passed, nil
	}
	total, err := Report(t.Context(), &out, run, Shipped(), regexp.MustCompile("^and(_not)?$"), true)
	if err != nil {
		t.Fatal(err)
	}
	if total != (Tally{39, 2, 2}) {
		t.Errorf("total %v", total)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	want := []string{"and 19/1/1", "and_not 20/1/1", "39 passed, 2 failed, 2 unsupported"}
	if got := lines[len(lines)-3:]; strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(lines[0], "FAILED compare_logic/and/bool/truth") || !strings.Contains(lines[0], "got this") {
		t.Errorf("first line %q", lines[0])
	}
}

func TestUnknownAndOutsideAreUnsupported(t *testing.T) {
	c := *firstCase(t)
	c.Function = "no_such_function"
	if outcome, err := Run(t.Context(), &c); outcome != Unsupported || err == nil {
		t.Errorf("unknown function: %d, %v", outcome, err)
	}
	err := Each(Shipped(), func(c *Case) error {
		failure, err := c.failure()
		if err != nil {
			return err
		}
		outside := strings.Contains(c.ID, "decimal") || strings.Contains(c.ID, "float16")
		if outside && failure != Unsupported {
			t.Errorf("%s counts as outcome %d on failure", c.ID, failure)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestUnmappedOptionsFail(t *testing.T) {
	c := *firstCase(t)
	c.Options = []byte(`{"class":"WeekOptions"}`)
	if outcome, err := Run(t.Context(), &c); outcome != Failed {
		t.Errorf("outcome %d, %v", outcome, err)
	}
}

// firstCase is a case of `and`, which every registry has.
func firstCase(t *testing.T) *Case {
	t.Helper()
	var first *Case
	err := Each(Shipped(), func(c *Case) error {
		if first == nil && c.ID == "compare_logic/and/bool/truth" {
			first = c
		}
		return nil
	})
	if err != nil || first == nil {
		t.Fatalf("case not found: %v", err)
	}
	return first
}

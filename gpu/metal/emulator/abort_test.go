//go:build linux

package emulator

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Without Record a broken rule ends the process, with a message. The test runs
// itself again as the process that ends.
func TestBrokenRuleEndsTheProcess(t *testing.T) {
	const child = "METALEMU_TEST_ABORT"
	if os.Getenv(child) != "" {
		Abort()
		send(objc.device, "fooBar:")
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), child+"=1")
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Error("the process went on")
	}
	const want = "metalemu: unrecognized-selector: -[EmuMTLDevice fooBar:]"
	if !strings.Contains(string(out), want) {
		t.Errorf("want %q in the output, got %q", want, out)
	}
}

// A misspelt option in the environment does not go by unseen.
func TestOptionsFromTheEnvironment(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		options, message string
	}{
		{"order=1,fail_alloc=0", ""},
		{"order=1,oder=2", "`oder=2` is no option"},
	} {
		cmd := exec.Command(self, "-test.run=^TestGPUTimes$")
		cmd.Env = append(os.Environ(), "METALEMU_OPTIONS="+c.options)
		out, err := cmd.CombinedOutput()
		if (err == nil) != (c.message == "") || !strings.Contains(string(out), c.message) {
			t.Errorf("%s: %v, output %q", c.options, err, out)
		}
	}
}

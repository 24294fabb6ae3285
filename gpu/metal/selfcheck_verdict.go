//go:build (darwin || linux) && (amd64 || arm64)

package metal

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Verdict is how a self-check ended on a machine.
type Verdict struct {
	System  string    `json:"system"`  // the operating system and its build
	GPU     string    `json:"gpu"`     // as the maker calls it
	Driver  string    `json:"driver"`  // "metal", or "emulator"
	Version string    `json:"version"` // of this module
	OK      bool      `json:"ok"`
	Failed  []string  `json:"failed,omitempty"` // what was found that is not as it should be
	When    time.Time `json:"when"`
}

// verdictPath is in the user's cache folder, a file for everything that a verdict holds for.
func (v *Verdict) path() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("metal: no cache folder: %w", err)
	}
	h := sha256.New()
	for _, part := range []string{v.System, v.GPU, v.Driver, v.Version} {
		fmt.Fprintf(h, "%q", part)
	}
	return filepath.Join(cache, "broadhead", "metal", "verdict-"+hex.EncodeToString(h.Sum(nil)[:8])+".json"), nil
}

// Store keeps the verdict in the user's cache folder and returns the file's name. A later one for the same system, GPU,
// driver and version takes its place.
func (v *Verdict) Store() (string, error) {
	path, err := v.path()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", fmt.Errorf("metal: %w", err)
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "", fmt.Errorf("metal: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), "storing-")
	if err != nil {
		return "", fmt.Errorf("metal: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("metal: %w", err)
	}
	return path, nil
}

// LoadVerdict returns the verdict that was stored for a GPU on this system by this version; found is false if there is
// none. After an update of any of them there is none.
func LoadVerdict(gpu, driver, version string) (v Verdict, found bool) {
	want := Verdict{System: systemBuild(), GPU: gpu, Driver: driver, Version: version}
	path, err := want.path()
	if err != nil {
		return Verdict{}, false
	}
	text, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(text, &v) != nil {
		return Verdict{}, false
	}
	same := v.System == want.System && v.GPU == gpu && v.Driver == driver && v.Version == version
	return v, same
}

// NewVerdict sums findings up, for a GPU on this system.
func NewVerdict(gpu, driver, version string, findings []Finding) Verdict {
	v := Verdict{System: systemBuild(), GPU: gpu, Driver: driver, Version: version, OK: len(findings) > 0, When: time.Now().UTC().Truncate(time.Second)}
	for _, f := range findings {
		if !f.OK {
			v.OK = false
			v.Failed = append(v.Failed, f.Part+": "+f.Name+": "+f.Detail)
		}
	}
	return v
}

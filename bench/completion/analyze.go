//go:build (linux || darwin) && (amd64 || arm64)

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The files of a folder of results.
const (
	rawName     = "raw.jsonl.gz"   // written by run
	probeName   = "probe.jsonl.gz" // written by run
	startupName = "startup.json"   // written by run
	resultsName = "results.json"   // follows from them
	tablesName  = "tables.md"      // follows from them
	plotName    = "return-leg.svg" // follows from them
)

// results is everything that follows from the raw files.
type results struct {
	Header  header          `json:"header"`
	Verdict verdict         `json:"verdict"`
	Cells   []*cell         `json:"cells"`
	Probe   []*cell         `json:"probe"`
	Startup []placementCost `json:"startup"`
}

func criteriaHash() string {
	sum := sha256.Sum256(criteriaText)
	return hex.EncodeToString(sum[:])
}

// derive reads a folder's raw files.
func derive(folder string) (*results, error) {
	k, err := loadCriteria()
	if err != nil {
		return nil, err
	}
	r := &results{}
	var windows, probes []*window
	if r.Header, windows, err = (rawFile{filepath.Join(folder, rawName)}).read(); err != nil {
		return nil, err
	}
	if r.Header.Criteria != criteriaHash() {
		return nil, fmt.Errorf("%s was measured under other criteria (SHA-256 %.12s) than criteria.json (%.12s)", folder, r.Header.Criteria, criteriaHash())
	}
	if _, probes, err = (rawFile{filepath.Join(folder, probeName)}).read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	switch text, err := os.ReadFile(filepath.Join(folder, startupName)); {
	case err == nil:
		if err := json.Unmarshal(text, &r.Startup); err != nil {
			return nil, fmt.Errorf("%s: %w", startupName, err)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	r.Cells, r.Probe = cellsOf(windows), cellsOf(probes)
	r.Verdict = k.judge(r.Cells)
	return r, nil
}

// files are the contents of what follows from the raw files.
func (r *results) files() (map[string][]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, err
	}
	var plot bytes.Buffer
	if err := r.plot(&plot); err != nil {
		return nil, err
	}
	return map[string][]byte{resultsName: append(text, '\n'), tablesName: r.tables(), plotName: plot.Bytes()}, nil
}

// analyze writes the derived files of a folder, or with check says which of those that are there do not follow from the raw
// ones.
func analyze(folder string, check bool) (*results, error) {
	r, err := derive(folder)
	if err != nil {
		return nil, err
	}
	files, err := r.files()
	if err != nil {
		return nil, err
	}
	var stale error
	for name, want := range files {
		path := filepath.Join(folder, name)
		if !check {
			if err := os.WriteFile(path, want, 0o644); err != nil {
				return nil, err
			}
			continue
		}
		if have, err := os.ReadFile(path); err != nil {
			stale = errors.Join(stale, err)
		} else if !bytes.Equal(have, want) {
			stale = errors.Join(stale, fmt.Errorf("%s does not follow from the raw files", path))
		}
	}
	return r, stale
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

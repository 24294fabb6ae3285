// Package golden runs the golden cases of the Arrow compute functions, made
// with pyarrow, through compute.CallFunction and compares the answers. The
// cases of the functions that the engine claims are shipped in data; another
// folder of the same format can be run in their place (see the README there).
package golden

import (
	"bufio"
	"compress/gzip"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

//go:embed data/*.jsonl.gz
var shipped embed.FS

// Shipped returns the cases that belong to this version.
func Shipped() fs.FS {
	sub, err := fs.Sub(shipped, "data")
	if err != nil {
		panic(err) // the folder is embedded above
	}
	return sub
}

// Payload is an argument or an expected result: an Arrow IPC stream and how to
// read it, or an error.
type Payload struct {
	Kind    string `json:"kind"` // array, scalar, chunked or table
	Type    string `json:"type"`
	IPC     []byte `json:"ipc"`
	Offset  *int64 `json:"offset"` // with Length: the slice of the payload that is meant
	Length  *int64 `json:"length"`
	Error   string `json:"error"`
	Message string `json:"message"`
}

// Case is one call and its answer.
type Case struct {
	ID        string          `json:"id"`
	Function  string          `json:"function"`
	Options   json.RawMessage `json:"options"`
	Args      []Payload       `json:"args"`
	Expect    Payload         `json:"expect"`
	Tolerance string          `json:"tolerance"`
	// PlatformDefined answers follow no rule but that of the processor that made them.
	PlatformDefined bool `json:"platform_defined"`

	// Table.filter only: a mask's null selection, or an expression for a mask.
	NullSelection string          `json:"null_selection_behavior"`
	Expression    json.RawMessage `json:"expression"`
}

// Each calls visit with every case of a folder's *.jsonl.gz files, in order.
func Each(dir fs.FS, visit func(*Case) error) error {
	names, err := fs.Glob(dir, "*.jsonl.gz")
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no *.jsonl.gz files there")
	}
	for _, name := range names {
		if err := eachOf(dir, name, visit); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func eachOf(dir fs.FS, name string, visit func(*Case) error) error {
	f, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	lines := bufio.NewReaderSize(z, 1<<20)
	for n := 1; ; n++ {
		line, err := lines.ReadString('\n')
		if err != nil && err != io.EOF {
			return err
		}
		if strings.TrimSpace(line) != "" {
			var c Case
			if err := json.Unmarshal([]byte(line), &c); err != nil {
				return fmt.Errorf("line %d: %w", n, err)
			}
			if err := visit(&c); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

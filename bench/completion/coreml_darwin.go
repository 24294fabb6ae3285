//go:build darwin && cgo && (amd64 || arm64)

package main

import (
	"time"

	"github.com/broadhead-go/broadhead/bench/completion/coreml"
)

// coreMLPlacement is a further configuration: predictions of a model in this process, released.
func coreMLPlacement(path string) (placement, error) {
	return placement{"M", "Core ML in the process, released", func(int) (load, error) {
		m, err := coreml.Load(path)
		if err != nil {
			return nil, err
		}
		_, err = m.Predict() // the first takes longer
		return &predictor{m}, err
	}}, nil
}

// predictor is a load on Core ML.
type predictor struct{ model *coreml.Model }

func (p *predictor) do() (start, end time.Duration, right bool, err error) {
	start = now()
	right, err = p.model.Predict()
	return start, now(), right, err
}

func (p *predictor) cpu() time.Duration { return 0 }

func (p *predictor) close() error {
	p.model.Close()
	return nil
}

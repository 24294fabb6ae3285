//go:build amd64 || arm64

package main

import (
	"time"

	"github.com/broadhead-go/broadhead/gpu"
	_ "github.com/broadhead-go/broadhead/gpu/metal"
)

// openDevice opens the GPU. label is how results name it.
func openDevice(service time.Duration) (s *server, label string, err error) {
	dev, err := gpu.Default()
	if err != nil {
		return nil, "", err
	}
	s, err = newServer(dev, service, nil)
	return s, dev.Info().Name, err
}

//go:build amd64 || arm64

package main

import (
	"time"

	"github.com/broadhead-go/broadhead/gpu"
	_ "github.com/broadhead-go/broadhead/gpu/cuda"
	"github.com/broadhead-go/broadhead/gpu/metal/emulator"
)

// openDevice opens the best real device there is, else the emulator of Metal, whose requests then take a fixed time: a
// native thread sleeps it. label is how results name the device.
func openDevice(service time.Duration) (s *server, label string, err error) {
	dev, err := gpu.Default()
	if err == nil && dev.Info().Driver != "emulator" {
		s, err = newServer(dev, service, nil)
		return s, dev.Info().Name, err
	}
	if dev, err = gpu.Open("emulator"); err != nil {
		return nil, "", err
	}
	s, err = newServer(dev, service, func(d time.Duration) { emulator.SetOption("delay_us", d.Microseconds()) })
	return s, "emulator of Metal with a fixed service time (no GPU)", err
}

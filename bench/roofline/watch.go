package roofline

import (
	"sync"
	"time"

	"github.com/broadhead-go/broadhead/gpu"
)

// watched is a device whose commits are timed by its own clock.
type watched struct {
	gpu.Device
	mu     sync.Mutex
	events []gpu.Event
}

type watchedCommands struct {
	gpu.Commands
	dev *watched
}

func (w *watched) Commands() gpu.Commands { return &watchedCommands{w.Device.Commands(), w} }

func (c *watchedCommands) Commit() (gpu.Event, error) {
	e, err := c.Commands.Commit()
	if err == nil {
		c.dev.mu.Lock()
		c.dev.events = append(c.dev.events, e)
		c.dev.mu.Unlock()
	}
	return e, err
}

// busy is the time that the device spent on the commits since the last call, 0 where it cannot tell.
func (w *watched) busy() (d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		d += e.GPUTime()
	}
	w.events = nil
	return d
}

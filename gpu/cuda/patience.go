//go:build linux && (amd64 || arm64)

package cuda

// patiently runs f, in which the driver may wait for everything that the device does: to free memory, to load and unload
// kernels. A kernel without an end would hold it for ever. So it runs beside the caller, who goes on when the device is
// lost meanwhile. What f then still brings is undone by late, if that is not nil.
func (d *device) patiently(f func() error, late func()) error {
	ended := make(chan error, 1)
	go func() { ended <- f() }()
	select {
	case err := <-ended:
		return err
	case <-d.Ends.Failed():
	}
	// Calls of a device that is lost for another reason end at once, and so do those of one that answers again.
	if !d.Ends.Overdue() {
		return <-ended
	}
	if late != nil {
		go func() {
			if <-ended == nil {
				late()
			}
		}()
	}
	return d.Lost()
}

package gpu

// MemoryGauge is what devices with memory of their own offer beside Device.
type MemoryGauge interface {
	// FreeMemory is how many bytes of the device's memory nobody holds, this process or another.
	FreeMemory() (int64, error)
	// TrimMemory gives back what this process holds and nothing uses.
	TrimMemory() error
}

package main

// report is what the doctor found.
type report struct {
	Program     program     `json:"program"`
	Machine     machine     `json:"machine"`
	Drivers     []string    `json:"drivers"`
	Devices     []device    `json:"devices"`
	Chosen      chosen      `json:"chosen"`
	Waiting     waiting     `json:"waiting"`
	Compiler    compiler    `json:"compiler"`
	Memory      allocator   `json:"memory"`
	Crossovers  []crossover `json:"crossovers"`
	Environment []variable  `json:"environment"`
	Checks      []check     `json:"checks"`
	Kernels     []kernels   `json:"kernels"`
	Missing     []advice    `json:"missing"`
}

type program struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	ArrowGo  string `json:"arrow_go"`
}

type machine struct {
	OS         string   `json:"os"`
	Arch       string   `json:"arch"`
	CPU        string   `json:"cpu"`
	Vectors    []string `json:"vectors"`
	Cores      int      `json:"cores"`
	GOMAXPROCS int      `json:"gomaxprocs"`
}

// device is a device that is there, or the reason why a driver has none.
type device struct {
	Name             string   `json:"name"`
	Driver           string   `json:"driver"`
	Model            string   `json:"model,omitempty"`
	Unified          bool     `json:"unified"`
	Capabilities     []string `json:"capabilities"`
	SIMDWidth        int      `json:"simd_width"`
	ThreadgroupBytes int      `json:"threadgroup_bytes"`
	PageSize         int      `json:"page_size"`
	MemoryBytes      int64    `json:"memory_bytes"`
	MaxBufferBytes   int64    `json:"max_buffer_bytes"`
	Error            string   `json:"error,omitempty"`
}

type chosen struct {
	Device string `json:"device"` // "cpu" if none
	Driver string `json:"driver,omitempty"`
	Why    string `json:"why"`
}

type waiting struct {
	LowLatency       bool   `json:"low_latency"`
	SpinMicroseconds int    `json:"spin_microseconds"`
	CommandTimeout   string `json:"command_timeout"`
}

type compiler struct {
	Command string `json:"command"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Error   string `json:"error,omitempty"`
}

// allocator is what memory.New gives on the chosen device, seen on a block of a few MiB.
type allocator struct {
	Kind          string `json:"kind"`
	BlockBytes    int64  `json:"block_bytes"`
	ReservedBytes int64  `json:"reserved_bytes"`
	Arenas        int    `json:"arenas"`
	HugePageMode  string `json:"huge_page_mode,omitempty"` // the kernel's setting
	HugeBytes     int64  `json:"huge_bytes"`               // of the block in huge pages, where the system tells
	Error         string `json:"error,omitempty"`
}

// crossover is the rows from which a function runs on the chosen device, for values of Width bytes; null is never.
type crossover struct {
	Function string `json:"function"`
	Width    int    `json:"width"`
	Device   *int64 `json:"device_memory"`
	Foreign  *int64 `json:"foreign_memory"`
	From     string `json:"from"`
}

type variable struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	Set     bool   `json:"set"`
	Meaning string `json:"meaning"`
	Problem string `json:"problem,omitempty"`
}

// check is a function that was computed on a small column, here and on the chosen device.
type check struct {
	Function string `json:"function"`
	Device   string `json:"device"`
	OK       bool   `json:"ok"`
	Answer   string `json:"answer"`
}

type kernels struct {
	Device string `json:"device"`
	Builds int64  `json:"builds"`
	Hits   int64  `json:"hits"`
}

type advice struct {
	What string `json:"what"`
	How  string `json:"how"`
}

// broken says whether a check failed.
func (r *report) broken() bool {
	for _, c := range r.Checks {
		if !c.OK {
			return true
		}
	}
	return false
}

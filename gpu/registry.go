package gpu

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

// driver is one registered driver. Its devices are opened when first asked for.
type driver struct {
	name string
	open func() ([]Device, error)

	mu      sync.Mutex
	opened  bool
	devices []Device
	err     error // why open failed; it is not tried again
}

var drivers struct {
	sync.Mutex
	byName map[string]*driver
}

// rank orders drivers by preference: those not named come after cuda. The emulator is for tests, so it is never chosen
// unless it is named.
var rank = map[string]int{"metal": -2, "cuda": -1, "emulator": 1}

// Register makes a driver known under a name, as database/sql drivers do: from an init function of the driver's package.
// open returns the driver's devices in a fixed order; it runs when a device is first asked for, and again only after a
// device was closed. Registering a name twice, or no function, panics.
func Register(name string, open func() ([]Device, error)) {
	drivers.Lock()
	defer drivers.Unlock()
	if open == nil {
		panic("gpu: Register without an open function")
	}
	if drivers.byName[name] != nil {
		panic("gpu: driver " + name + " is registered twice")
	}
	if drivers.byName == nil {
		drivers.byName = make(map[string]*driver)
	}
	drivers.byName[name] = &driver{name: name, open: open}
}

// ranked lists the drivers, the preferred first.
func ranked() []*driver {
	drivers.Lock()
	defer drivers.Unlock()
	list := make([]*driver, 0, len(drivers.byName))
	for _, d := range drivers.byName {
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *driver) int {
		if d := rank[a.name] - rank[b.name]; d != 0 {
			return d
		}
		return strings.Compare(a.name, b.name)
	})
	return list
}

// Drivers lists the names of the linked drivers, the preferred first.
func Drivers() []string {
	var names []string
	for _, d := range ranked() {
		names = append(names, d.name)
	}
	return names
}

// Candidate is a device that is there, or the reason why a linked driver offers none.
type Candidate struct {
	Name   string // what Open takes: "metal:0"; the driver's name alone when Err is set
	Driver string
	Info   Info
	Err    error
}

// Devices lists the devices of every linked driver, the preferred first, and the errors of drivers that could not open.
// It opens every driver.
func Devices() []Candidate {
	var list []Candidate
	for _, drv := range ranked() {
		devices, err := drv.load()
		if err != nil {
			list = append(list, Candidate{Name: drv.name, Driver: drv.name, Err: err})
			continue
		}
		for i, d := range devices {
			list = append(list, Candidate{Name: drv.name + ":" + strconv.Itoa(i), Driver: drv.name, Info: d.Info()})
		}
	}
	return list
}

// Open returns a device by name: "metal", "cuda", "emulator", or with its number "cuda:1". A device is opened once per
// process: every Open of it returns the same Device until somebody closes it, after which Open makes a new one. So close
// a device only when the whole program is done with it. Errors wrap ErrNoDevice.
func Open(name string) (Device, error) {
	base, number, err := splitName(name)
	if err != nil {
		return nil, err
	}
	drivers.Lock()
	drv := drivers.byName[base]
	drivers.Unlock()
	if drv == nil {
		return nil, fmt.Errorf("%w: driver %q is not linked: %s", ErrNoDevice, base, howToLink())
	}
	devices, err := drv.load()
	if err != nil {
		return nil, err
	}
	if number >= len(devices) {
		return nil, fmt.Errorf("%w: %s: the driver has %d", ErrNoDevice, name, len(devices))
	}
	return devices[number], nil
}

func splitName(name string) (base string, number int, err error) {
	base, digits, numbered := strings.Cut(name, ":")
	if numbered {
		number, err = strconv.Atoi(digits)
	}
	if base == "" || err != nil || number < 0 {
		return "", 0, fmt.Errorf("%w: %q is no device name: want a driver and perhaps a number, as in cuda:1", ErrNoDevice, name)
	}
	return base, number, nil
}

// load returns the driver's open devices, opening those that are not. The error wraps ErrNoDevice.
func (drv *driver) load() ([]Device, error) {
	drv.mu.Lock()
	defer drv.mu.Unlock()
	if drv.err != nil {
		return nil, drv.err
	}
	if drv.opened && !slices.ContainsFunc(drv.devices, isClosed) {
		return drv.devices, nil
	}
	fresh, err := drv.open()
	if err == nil && len(fresh) == 0 {
		err = errors.New("it finds none")
	}
	if err != nil {
		drv.err = fmt.Errorf("%w: driver %s: %w", ErrNoDevice, drv.name, err)
		return nil, drv.err
	}
	// Devices that are still open stay what they are to those who hold them.
	for i, old := range drv.devices {
		if i < len(fresh) && !isClosed(old) {
			fresh[i].Close()
			fresh[i] = old
		}
	}
	drv.opened, drv.devices = true, fresh
	return fresh, nil
}

// isClosed asks with a request that every open device refuses for another reason.
func isClosed(d Device) bool {
	_, err := d.Alloc(0, Shared)
	return errors.Is(err, ErrClosed)
}

// answer is what Default said when BROADHEAD_DEVICE was asked.
type answer struct {
	asked  string
	device Device
	err    error
}

func (a *answer) holds(asked string) bool {
	return a != nil && a.asked == asked && (a.device == nil || !isClosed(a.device))
}

var defaultDevice struct {
	sync.Mutex // held while one is chosen
	answer     atomic.Pointer[answer]
}

// Default returns the device to use where the caller names none: what BROADHEAD_DEVICE says (metal, cuda, emulator,
// cpu, or a name as Open takes it), else the best real device. The answer is kept, so every call gives the same Device
// until it is closed. ErrNoDevice, with the reason, means that there is no GPU or that the CPU was asked for.
func Default() (Device, error) {
	asked := os.Getenv(envDevice)
	d := &defaultDevice
	if a := d.answer.Load(); a.holds(asked) {
		return a.device, a.err
	}
	d.Lock()
	defer d.Unlock()
	a := d.answer.Load()
	if !a.holds(asked) {
		a = &answer{asked: asked}
		a.device, a.err = choose(strings.ToLower(strings.TrimSpace(asked)))
		d.answer.Store(a)
	}
	return a.device, a.err
}

func choose(asked string) (Device, error) {
	switch asked {
	case "cpu":
		return nil, fmt.Errorf("%w: %s=cpu", ErrNoDevice, envDevice)
	case "":
	default:
		d, err := Open(asked)
		if err != nil {
			return nil, fmt.Errorf("%w (%s=%s)", err, envDevice, asked)
		}
		return d, nil
	}
	var why []error
	for _, drv := range ranked() {
		if drv.name == "emulator" {
			continue
		}
		devices, err := drv.load()
		if err == nil {
			return devices[0], nil
		}
		why = append(why, err)
	}
	if why == nil {
		return nil, fmt.Errorf("%w: no driver of a real device is linked: %s", ErrNoDevice, howToLink())
	}
	return nil, errors.Join(why...)
}

// howToLink says what the program has and how it gets more.
func howToLink() string {
	linked := "none"
	if names := Drivers(); len(names) > 0 {
		linked = strings.Join(names, ", ")
	}
	return "linked drivers: " + linked + "; package compute links metal on macOS; on Linux " +
		`import _ "github.com/broadhead-go/broadhead/gpu/cuda" for NVIDIA, or ".../gpu/metal/emulator" for tests`
}

//go:build amd64 || arm64

package metal

import (
	"runtime"
	"syscall"
)

// systemBuild names the operating system exactly: a driver may change with each of its builds.
func systemBuild() string {
	version, _ := syscall.Sysctl("kern.osproductversion")
	build, _ := syscall.Sysctl("kern.osversion")
	return "macOS " + version + " (" + build + ") " + runtime.GOARCH
}

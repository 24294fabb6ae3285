//go:build amd64 || arm64

package metal

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// systemBuild names the operating system.
func systemBuild() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "Linux " + runtime.GOARCH
	}
	return "Linux " + unix.ByteSliceToString(name.Release[:]) + " " + runtime.GOARCH
}

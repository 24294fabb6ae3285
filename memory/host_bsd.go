//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package memory

// hugePage is 0 because these systems choose page sizes themselves.
const hugePage = 0

func adviseHuge([]byte) {}

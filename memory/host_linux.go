package memory

import "golang.org/x/sys/unix"

const hugePage = 2 << 20

// adviseHuge asks for huge pages. A kernel without them refuses, and ordinary pages are as correct.
func adviseHuge(mem []byte) { _ = unix.Madvise(mem, unix.MADV_HUGEPAGE) }

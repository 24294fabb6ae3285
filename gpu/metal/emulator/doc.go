// Package emulator is a Metal for Linux: a small Objective-C runtime and Metal
// framework in C++ that package gpu/metal drives exactly as it drives the
// real one. Kernels are MSL text, compiled by g++ when the program asks for
// them, and run on the CPU over memory that host and "GPU" share. It is for
// tests and development, not for speed.
//
// The C++ sources are in folder src and embedded; [Build] compiles them once
// into the user's cache folder, [Lib] loads the result.
//
// # Rules
//
// The emulator is a strict and weak machine. What breaks a rule is a
// violation: the process ends with a message, or, after [Record], the message
// is kept for [Violations] and the command buffer ends in error. A message
// begins with its kind:
//
//	unrecognized-selector, bad-selector, bad-object, use-after-free, nil-message,
//	no-pool, pool, nsstring, nsarray           the Objective-C runtime
//	buffer, foreign-device, encoder, dispatch,
//	blit, commit, event, fence, handler, leak  the Metal API
//	out-of-bounds, write-to-constant, poisoned,
//	misaligned, uninitialised, data-race       memory, within a dispatch
//	missing-barrier                            memory, between commands
//	host-access                                memory, between a dispatch and the CPU
//	divergent-barrier, divergent-simd,
//	threadgroup-memory, division, timeout      control flow and limits
//
// Kernels are checked by default, by call-outs that the compiler puts before
// each access; messages name the kernel, the buffer, the thread and the line
// of MSL. Text that Metal's compiler would reject (double, 64-bit atomics,
// simd_sum of long, other orders than relaxed ...) fails to compile.
//
// With a seed (option order above 1) several threadgroups of a checked dispatch
// are resident and take turns at atomics, weak exchanges fail now and then, and
// every violation names the seed.
//
// A second profile, [OpenWide], has what CUDA has and Metal has not: double,
// 64-bit atomics, release and acquire, fences, subnormals, and threadgroups that
// make progress independently. The checks are the same.
//
// Buffers made with MTLResourceHazardTrackingModeUntracked are ordered by
// barriers, fences, events and by what the host has seen complete; nothing
// else. Arithmetic on float flushes subnormals and is not contracted.
//
// # Options
//
// [SetOption], or METALEMU_OPTIONS="name=value,..." when the process starts:
//
//	sanitize=1           check kernels; 0 is for benchmarks only
//	opt=1                optimisation level of kernels
//	order=0              order of what is not ordered: 0 forward, 1 backward,
//	                     above: the seed of a permutation
//	resident=0           threadgroups of a checked dispatch that take turns at
//	                     atomics; 0 is 4 if order is above 1, else 1
//	threads=2            OS threads of one unchecked dispatch
//	simdstrict=1         all lanes must reach a SIMD-group operation
//	nilstrict=0          1: a message to nil is a violation
//	profile=0            1: the devices listed are of the second profile
//	page=16384           alignment of memory that is wrapped without a copy
//	devices=1            devices that MTLCopyAllDevices lists (also METALEMU_DEVICES)
//	delay_us=0           a command buffer starts this long after its commit
//	status_lag_us=0      its status follows its last signal by this long
//	fill_kib=0           so much of a new buffer is filled with 0xCB, not zeros
//	line_writeback=0     1: a checked dispatch works on copies of its buffers and
//	                     writes lines of 128 bytes back whole when it ends; what
//	                     the CPU writes there, or where the kernel reads,
//	                     meanwhile is a violation
//	hold_us=0            it waits this long before it writes back
//	fail_command=0       N: the N-th next command buffer fails; likewise
//	                     fail_library, fail_pipeline, fail_alloc
//	fail_pipeline_percent=0  of the pipelines fail to be made, by order's seed
//	kernel_timeout_ms    a checked dispatch that runs longer fails
//	event_timeout_ms     a command buffer that waits longer for an event fails
//	lost=0               1: every command buffer fails
//
// METALEMU_CACHE names the folder of compiled kernels, which are removed when they
// were not used for 14 days, METALEMU_CXX (else
// CXX, else g++) their compiler.
package emulator

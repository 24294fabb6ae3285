// Package resident answers whether a kernel can stay on a device and take work from memory that the CPU writes, so that a
// small call costs a store and a load instead of a submission, and has the worker for devices where it can.
//
// That depends on the device: running kernels must see the CPU's stores, and the CPU theirs. Probe measures both, for
// every form of load and store that the device's language offers; nothing is assumed. Where the answer is no, Available
// and SetMode say so and nothing changes. Where it is yes and the device can launch a kernel that stays (gpu.Resident),
// SetMode starts a Worker that package compute then uses for small calls over device columns.
//
// The kernels are Metal Shading Language text as elsewhere. The worker's needs volatile accesses and one fence of system
// scope, which MSL has, and addresses as numbers; only its float64 arithmetic is CUDA's.
package resident

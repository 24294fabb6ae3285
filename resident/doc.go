// Package resident is the place of kernels that stay on the GPU and take work from memory that the CPU writes, so that
// a small call costs a store and a load instead of a submission.
//
// Whether that is possible depends on the device: running kernels must see the CPU's stores, and the CPU theirs. On
// Apple silicon a published study found that they do not, in useful time. Nothing here assumes an answer, and nothing
// uses the package yet: calls go through package compute, one submission each or one per Batch.
package resident

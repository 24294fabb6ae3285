// Package compute is arrow-go's arrow/compute with the functions it lacks and kernels that are faster: CPU kernels on
// every core and, where a GPU is there and wins, GPU kernels.
//
// A program changes one import path. Every exported identifier of arrow-go's package exists here with the same meaning;
// Expression builders (Equal, Greater, And, ...) keep their names, and eager calls on typed values carry Datum or Array
// in theirs, as arrow-go's CastDatum and CastArray do: [EqualDatum], [EqualArray], [AndDatum], [IsNullArray]. New are
// the aggregates ([Sum], [MinMax], ...), [Batch], and the means to see and steer where calls run: [Explain], [Stats],
// [WithDevice], [SetCrossover].
//
// # Where a call runs
//
// Each function knows, per element width and per place of its inputs, the number of rows from which the GPU wins. Below
// it, or without a GPU, or for types without a GPU kernel, the CPU kernel runs; answers are the same bit for bit (any
// NaN equals any NaN). A GPU that fails never fails a call: the CPU kernel answers, and the reason is counted in Stats
// and shown by Explain.
//
// # Memory
//
// Results come from the allocator in the context ([WithAllocator]). When that is a memory.Allocator of the device, inputs
// and results are used by the GPU where they lie; other arrays are wrapped or copied, which the crossover accounts for.
package compute

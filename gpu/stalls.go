// # What can delay a completion
//
// A request that has ended is delivered by whoever sees its completion word first: its waiter, which polls for
// SpinMicroseconds; the slices of CPU kernels, which look at the words of all devices in flight some 20,000 times a
// second ([Slices]); or, while no such kernel runs, a thread that blocks in the driver. Our kernels call no assembly for
// longer than 50 microseconds, so none of these waits for another's end. What still delays them is what holds up every
// goroutine of a process:
//
//   - Assembly of the program or of another library that runs for long. The runtime can stop a goroutine between two
//     instructions of Go code, not in assembly: its processor (one of GOMAXPROCS) is gone until the call returns. If all
//     of them are held so, or if the garbage collector wants to begin and one is, everything waits. Cut such work into
//     calls of tens of microseconds and put Slices around them.
//   - Go code that never waits, on all processors: other goroutines get their turn when the runtime notices, after 10 to
//     20 milliseconds. Slices.Next, or runtime.Gosched, gives it earlier.
//   - Native code called by cgo or purego holds its processor until the runtime takes it back, at first after 20
//     microseconds, in a quiet process after up to 10 milliseconds. One long call is harmless; many short ones are worse
//     than held ones.
//   - A callback from a native thread into Go needs a processor. Nothing here uses one.
//   - The operating system: with more busy threads than cores a thread that was woken waits for a core, some 4
//     milliseconds on two cores, and longer where a container has a quota.
//
// To see it: runtime/metrics has /sched/latencies:seconds (how long goroutines were ready and had no processor) and
// /sched/pauses/stopping/gc:seconds (how long the collector waited for all to stop); a stop of milliseconds points to
// code that cannot be stopped. runtime/trace shows the waiter as runnable, and what ran instead. The command
// bench/completion measures all of this on a machine.
package gpu

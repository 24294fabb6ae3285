//go:build (darwin || linux) && (amd64 || arm64)

package metal

// selector is an index into the table of messages.
type selector uint8

const (
	selAlloc selector = iota
	selNew
	selRespondsToSelector
	selInitWithBytes
	selUTF8String
	selLengthOfBytes
	selCount
	selObjectAtIndex
	selLocalizedDescription
	selCode

	selName
	selHasUnifiedMemory
	selSupportsFamily
	selMaxBufferLength
	selMaxThreadgroupMemory
	selRecommendedWorkingSet
	selNewCommandQueue
	selNewBuffer
	selNewBufferNoCopy
	selNewLibrary
	selNewPipeline
	selNewSharedEvent
	selNewFence

	selSetMathMode
	selSetFastMath
	selSetLanguageVersion
	selNewFunction
	selMaxThreads
	selExecutionWidth
	selSignaledValue

	selCommandBuffer
	selComputeEncoder
	selBlitEncoder
	selSignalEvent
	selCommit
	selWaitUntilCompleted
	selStatus
	selError
	selGPUStart
	selGPUEnd

	selSetPipeline
	selSetBuffer
	selSetBuffers
	selSetBytes
	selDispatch
	selMemoryBarrier
	selUpdateFence
	selWaitForFence
	selCopy
	selEndEncoding

	selectorCount
)

// selectors has a row for each message: its name, the type encoding that the calls assume, who understands it, and the
// macOS it came with where that is later than the oldest we run on (14).
var selectors = [selectorCount]struct {
	name, encoding, receiver string
	since                    int
}{
	selAlloc:                 {"alloc", "@@:", "NSString class", 0},
	selNew:                   {"new", "@@:", "MTLCompileOptions class", 0},
	selRespondsToSelector:    {"respondsToSelector:", "B@::", "device", 0},
	selInitWithBytes:         {"initWithBytes:length:encoding:", "@@:^vQQ", "string", 0},
	selUTF8String:            {"UTF8String", "*@:", "string", 0},
	selLengthOfBytes:         {"lengthOfBytesUsingEncoding:", "Q@:Q", "string", 0},
	selCount:                 {"count", "Q@:", "array", 0},
	selObjectAtIndex:         {"objectAtIndex:", "@@:Q", "array", 0},
	selLocalizedDescription:  {"localizedDescription", "@@:", "error", 0},
	selCode:                  {"code", "q@:", "error", 0},
	selName:                  {"name", "@@:", "device", 0},
	selHasUnifiedMemory:      {"hasUnifiedMemory", "B@:", "device", 0},
	selSupportsFamily:        {"supportsFamily:", "B@:q", "device", 0},
	selMaxBufferLength:       {"maxBufferLength", "Q@:", "device", 0},
	selMaxThreadgroupMemory:  {"maxThreadgroupMemoryLength", "Q@:", "device", 0},
	selRecommendedWorkingSet: {"recommendedMaxWorkingSetSize", "Q@:", "device", 0},
	selNewCommandQueue:       {"newCommandQueue", "@@:", "device", 0},
	selNewBuffer:             {"newBufferWithLength:options:", "@@:QQ", "device", 0},
	selNewBufferNoCopy:       {"newBufferWithBytesNoCopy:length:options:deallocator:", "@@:^vQQ@?", "device", 0},
	selNewLibrary:            {"newLibraryWithSource:options:error:", "@@:@@^@", "device", 0},
	selNewPipeline:           {"newComputePipelineStateWithFunction:error:", "@@:@^@", "device", 0},
	selNewSharedEvent:        {"newSharedEvent", "@@:", "device", 0},
	selNewFence:              {"newFence", "@@:", "device", 0},
	selSetMathMode:           {"setMathMode:", "v@:q", "options", 15},
	selSetFastMath:           {"setFastMathEnabled:", "v@:B", "options", 0},
	selSetLanguageVersion:    {"setLanguageVersion:", "v@:Q", "options", 0},
	selNewFunction:           {"newFunctionWithName:", "@@:@", "library", 0},
	selMaxThreads:            {"maxTotalThreadsPerThreadgroup", "Q@:", "pipeline", 0},
	selExecutionWidth:        {"threadExecutionWidth", "Q@:", "pipeline", 0},
	selSignaledValue:         {"signaledValue", "Q@:", "event", 0},
	selCommandBuffer:         {"commandBuffer", "@@:", "queue", 0},
	selComputeEncoder:        {"computeCommandEncoderWithDispatchType:", "@@:Q", "command buffer", 0},
	selBlitEncoder:           {"blitCommandEncoder", "@@:", "command buffer", 0},
	selSignalEvent:           {"encodeSignalEvent:value:", "v@:@Q", "command buffer", 0},
	selCommit:                {"commit", "v@:", "command buffer", 0},
	selWaitUntilCompleted:    {"waitUntilCompleted", "v@:", "command buffer", 0},
	selStatus:                {"status", "Q@:", "command buffer", 0},
	selError:                 {"error", "@@:", "command buffer", 0},
	selGPUStart:              {"GPUStartTime", "d@:", "command buffer", 0},
	selGPUEnd:                {"GPUEndTime", "d@:", "command buffer", 0},
	selSetPipeline:           {"setComputePipelineState:", "v@:@", "compute encoder", 0},
	selSetBuffer:             {"setBuffer:offset:atIndex:", "v@:@QQ", "compute encoder", 0},
	selSetBuffers:            {"setBuffers:offsets:withRange:", "v@:^@^Q{_NSRange=QQ}", "compute encoder", 0},
	selSetBytes:              {"setBytes:length:atIndex:", "v@:^vQQ", "compute encoder", 0},
	selDispatch:              {"dispatchThreadgroups:threadsPerThreadgroup:", "v@:{MTLSize=QQQ}{MTLSize=QQQ}", "compute encoder", 0},
	selMemoryBarrier:         {"memoryBarrierWithScope:", "v@:Q", "compute encoder", 0},
	selUpdateFence:           {"updateFence:", "v@:@", "compute encoder", 0},
	selWaitForFence:          {"waitForFence:", "v@:@", "compute encoder", 0},
	selCopy:                  {"copyFromBuffer:sourceOffset:toBuffer:destinationOffset:size:", "v@:@Q@QQ", "blit encoder", 0},
	selEndEncoding:           {"endEncoding", "v@:", "compute encoder", 0},
}

// What NVRTC declares by itself, for clang's NVPTX target without CUDA's headers.
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(threads) __attribute__((launch_bounds(threads)))
#pragma clang force_cuda_host_device begin

typedef __SIZE_TYPE__ size_t;
struct uint3 { unsigned x, y, z; };
struct uint2 { unsigned x, y; };
struct longlong2 { long long x, y; };
#define SREG(name, register)                                                                                           \
    struct name##_t {                                                                                                  \
        __declspec(property(get = get_x)) unsigned x;                                                                  \
        __declspec(property(get = get_y)) unsigned y;                                                                  \
        __declspec(property(get = get_z)) unsigned z;                                                                  \
        static inline __device__ unsigned get_x() { return __nvvm_read_ptx_sreg_##register##_x(); }                    \
        static inline __device__ unsigned get_y() { return __nvvm_read_ptx_sreg_##register##_y(); }                    \
        static inline __device__ unsigned get_z() { return __nvvm_read_ptx_sreg_##register##_z(); }                    \
    };                                                                                                                 \
    extern const __device__ name##_t name;
SREG(threadIdx, tid)
SREG(blockIdx, ctaid)
SREG(blockDim, ntid)
SREG(gridDim, nctaid)

#define INTRINSIC extern "C" __device__
INTRINSIC void* memcpy(void*, const void*, size_t);
INTRINSIC int __popc(unsigned);
INTRINSIC int __popcll(unsigned long long);
INTRINSIC int __clz(int);
INTRINSIC int __clzll(long long);
INTRINSIC int __ffs(int);
INTRINSIC int __ffsll(long long);
INTRINSIC unsigned __umulhi(unsigned, unsigned);
INTRINSIC int __mulhi(int, int);
INTRINSIC unsigned long long __umul64hi(unsigned long long, unsigned long long);
INTRINSIC long long __mul64hi(long long, long long);
INTRINSIC unsigned __brev(unsigned);
INTRINSIC unsigned long long __brevll(unsigned long long);
INTRINSIC unsigned __funnelshift_l(unsigned, unsigned, unsigned);
INTRINSIC unsigned __shfl_sync(unsigned, unsigned, int, int = 32);
INTRINSIC unsigned __shfl_up_sync(unsigned, unsigned, unsigned, int = 32);
INTRINSIC unsigned __shfl_down_sync(unsigned, unsigned, unsigned, int = 32);
INTRINSIC unsigned __shfl_xor_sync(unsigned, unsigned, int, int = 32);
INTRINSIC unsigned __ballot_sync(unsigned, int);
INTRINSIC int __all_sync(unsigned, int);
INTRINSIC int __any_sync(unsigned, int);
INTRINSIC void __syncwarp(unsigned);
INTRINSIC void __threadfence();
INTRINSIC void __threadfence_block();
INTRINSIC void __threadfence_system();
INTRINSIC unsigned __reduce_and_sync(unsigned, unsigned);
INTRINSIC unsigned __reduce_or_sync(unsigned, unsigned);
INTRINSIC unsigned __reduce_xor_sync(unsigned, unsigned);

#define BOTH(T)                                                                                                        \
    __device__ T __reduce_add_sync(unsigned, T);                                                                       \
    __device__ T __reduce_min_sync(unsigned, T);                                                                       \
    __device__ T __reduce_max_sync(unsigned, T);
BOTH(int)
BOTH(unsigned)

#define ATOMICS(T)                                                                                                     \
    __device__ T atomicExch(T*, T);                                                                                    \
    __device__ T atomicAdd(T*, T);                                                                                     \
    __device__ T atomicAnd(T*, T);                                                                                     \
    __device__ T atomicOr(T*, T);                                                                                      \
    __device__ T atomicXor(T*, T);                                                                                     \
    __device__ T atomicMin(T*, T);                                                                                     \
    __device__ T atomicMax(T*, T);                                                                                     \
    __device__ T atomicCAS(T*, T, T);
ATOMICS(int)
ATOMICS(unsigned)
ATOMICS(unsigned long long)
__device__ float atomicAdd(float*, float);
__device__ float sqrt(float);
__device__ double sqrt(double);
__device__ float atomicExch(float*, float);

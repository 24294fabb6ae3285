// clean
// grid 4 256
b[i] = a[i];

// read past the end
// grid 4 256
// want out-of-bounds | nearest is buffer(0) a: byte offset 4096 of 4096 | program_source:6 `b[i] = a[i + 1];`
b[i] = a[i + 1];

// write past the end
// grid 1 256
// want out-of-bounds | write of 4 bytes
a[i + 4000] = 1;

// negative index
// grid 1 32
// want out-of-bounds | byte offset -4 | thread (0,0,0) of threadgroup (0,0,0)
b[i] = a[(int)i - 1];

// null pointer
// grid 1 32
// want out-of-bounds
device uint* p = (device uint*)(ulong)b[i]; a[i] = *p;

// threadgroup overflow
// grid 1 64
// want out-of-bounds | outside threadgroup memory, near x
threadgroup uint x[32];
x[lid] = 1;
threadgroup_barrier(mem_flags::mem_threadgroup);
b[i] = x[0];

// uninitialised threadgroup memory
// grid 1 64
// want uninitialised | x
threadgroup uint x[64];
if (lid < 32) x[lid] = 1;
threadgroup_barrier(mem_flags::mem_threadgroup);
b[i] = x[lid];

// threadgroup memory of the last threadgroup
// grid 2 64
// want uninitialised
threadgroup uint x[64];
if (tg == 0) x[lid] = 1;
threadgroup_barrier(mem_flags::mem_threadgroup);
b[i] = x[lid];

// missing barrier
// grid 1 64
// want uninitialised
threadgroup uint x[64]; x[lid] = lid; b[i] = x[63 - lid];

// missing barrier after a first
// grid 1 64
// want data-race | of x | with no barrier between
threadgroup uint x[64];
x[lid] = 0;
threadgroup_barrier(mem_flags::mem_threadgroup);
x[lid] = lid;
b[i] = x[63 - lid];

// write after read
// grid 1 64
// want data-race
threadgroup uint x[64];
x[lid] = lid;
threadgroup_barrier(mem_flags::mem_threadgroup);
uint v = x[63 - lid];
x[lid] = v;
b[i] = v;

// write after own read and another's
// grid 1 64
// want data-race | read by thread
threadgroup uint x;
if (lid == 0) x = 5;
threadgroup_barrier(mem_flags::mem_threadgroup);
b[i] = x;
if (lid == 63) x = 6;

// with the barriers
// grid 1 64
threadgroup uint x[64];
x[lid] = lid;
threadgroup_barrier(mem_flags::mem_threadgroup);
uint v = x[63 - lid];
threadgroup_barrier(mem_flags::mem_threadgroup);
x[lid] = v;
b[i] = v;

// mem_none orders nothing
// grid 1 64
// want data-race | of x
threadgroup uint x[64];
x[lid] = 0;
threadgroup_barrier(mem_flags::mem_threadgroup);
x[lid] = lid;
threadgroup_barrier(mem_flags::mem_none);
b[i] = x[63 - lid];

// mem_device does not order threadgroup memory
// grid 1 64
// want data-race | of x
threadgroup uint x[64];
x[lid] = 0;
threadgroup_barrier(mem_flags::mem_threadgroup);
x[lid] = lid;
threadgroup_barrier(mem_flags::mem_device);
b[i] = x[63 - lid];

// mem_threadgroup does not order device memory
// grid 1 64
// want data-race | buffer(1) b
b[lid] = lid; threadgroup_barrier(mem_flags::mem_threadgroup); a[lid] = b[63 - lid];

// mem_device orders device memory
// grid 1 64
b[lid] = lid; threadgroup_barrier(mem_flags::mem_device); a[lid] = b[63 - lid];

// both flags
// grid 1 64
threadgroup uint x[64];
x[lid] = b[lid] = lid;
threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
a[lid] = b[63 - lid] + x[63 - lid];

// simdgroup_barrier within a SIMD-group
// grid 1 64
threadgroup uint x[64];
x[lid] = lid;
simdgroup_barrier(mem_flags::mem_threadgroup);
b[i] = x[lid ^ 1];

// simdgroup_barrier between SIMD-groups
// grid 1 64
// want data-race
threadgroup uint x[64];
x[lid] = 0;
threadgroup_barrier(mem_flags::mem_threadgroup);
x[lid] = lid;
simdgroup_barrier(mem_flags::mem_threadgroup);
b[i] = x[63 - lid];

// shuffle orders no memory
// grid 1 32
// want data-race
b[lid] = lid; uint v = simd_shuffle_xor(lid, 1); a[lid] = b[lid ^ 1] + v;

// race between threadgroups
// grid 2 32
// want data-race | written by thread 0 of threadgroup #0
b[lid] = i;

// read of another threadgroup
// grid 2 32
// want data-race
b[i] = i; if (tg == 1) a[i] = b[lid];

// readers of two threadgroups, one writes
// grid 2 32
// want data-race | read by thread
a[i] = b[lid]; if (tg == 1) b[lid] = i;

// bytes side by side
// grid 4 64
((device uchar*)b)[i] = uchar(i);

// the same byte of threadgroup memory
// grid 1 64
// want data-race | of x
threadgroup uchar x[64];
x[lid] = 0;
threadgroup_barrier(mem_flags::mem_threadgroup);
x[lid / 2] = uchar(lid);
b[i] = 1;

// bytes of threadgroup memory
// grid 1 64
threadgroup uchar x[64];
x[lid] = uchar(lid);
threadgroup_barrier(mem_flags::mem_threadgroup);
b[i] = ((threadgroup uint*)x)[lid / 4];

// a word over bytes
// grid 1 64
// want data-race | write of 4 bytes
((device uchar*)b)[i] = 1; if (lid == 63) b[0] = 2;

// the same byte
// grid 1 64
// want data-race | write of 1 bytes
((device uchar*)b)[i / 2] = uchar(i);

// plain counter
// grid 1 32
// want data-race
b[0] += 1;

// atomic counter
// grid 4 32
atomic_fetch_add_explicit((device atomic_uint*)&b[0], 1u, memory_order_relaxed);

// atomic float
// grid 4 32
atomic_fetch_add_explicit((device atomic_float*)&b[0], 1.0f, memory_order_relaxed);

// atomic maximum
// grid 4 32
atomic_fetch_max_explicit((device atomic_uint*)&b[0], i, memory_order_relaxed);

// 64-bit atomic maximum
// grid 4 32
atomic_max_explicit((device atomic_ulong*)&b[0], (ulong)i, memory_order_relaxed);

// atomic and plain
// grid 4 32
// want data-race
atomic_fetch_add_explicit((device atomic_uint*)&b[0], 1u, memory_order_relaxed);
if (i == 40) b[1] = b[0];

// plain read after an own atomic
// grid 2 32
// want data-race | atomically written by
device atomic_uint* n = (device atomic_uint*)b;
atomic_fetch_add_explicit(n, 1u, memory_order_relaxed);
if (i == 63) { atomic_fetch_add_explicit(n, 1u, memory_order_relaxed); a[0] = b[0]; }

// plain write after atomic reads of others
// grid 1 64
// want data-race | atomically read by
a[i] = atomic_load_explicit((device atomic_uint*)b, memory_order_relaxed);
if (lid == 63) b[0] = 1;

// write after the read of another SIMD-group
// grid 1 64
// want data-race | read by thread
uint v = b[0];
simdgroup_barrier(mem_flags::mem_device);
if (lid == 63) b[0] = v + 1u;

// write after reads of two epochs
// grid 1 64
uint v = b[0];
threadgroup_barrier(mem_flags::mem_device);
if (lid == 63) b[0] = v + 1u;
threadgroup_barrier(mem_flags::mem_device);
a[i] = b[0];

// flag without order
// grid 2 32
// want data-race | b[2] = b[1];
if (i == 0) { b[1] = 7; atomic_store_explicit((device atomic_uint*)&b[0], 1u, memory_order_relaxed); }
if (tg == 1 && lid == 0 && atomic_load_explicit((device atomic_uint*)&b[0], memory_order_relaxed) == 1u)
    b[2] = b[1];

// threadgroup atomics
// grid 2 64
threadgroup atomic_uint n;
if (lid == 0) atomic_store_explicit(&n, 0u, memory_order_relaxed);
threadgroup_barrier(mem_flags::mem_threadgroup);
atomic_fetch_add_explicit(&n, 1u, memory_order_relaxed);
threadgroup_barrier(mem_flags::mem_threadgroup);
b[i] = atomic_load_explicit(&n, memory_order_relaxed);

// barrier in divergent flow
// grid 1 64
// want divergent-barrier | others have returned | program_source:6
if (lid < 32) threadgroup_barrier(mem_flags::mem_none); b[i] = 1;

// barriers in two branches
// grid 1 64
// want divergent-barrier | at another barrier
if (lid < 32) {
 threadgroup_barrier(mem_flags::mem_none);
 } else {
 threadgroup_barrier(mem_flags::mem_none);
 }

// two barriers on one line
// grid 1 64
// want divergent-barrier | at another barrier | program_source:6
if (lid < 32) threadgroup_barrier(mem_flags::mem_none); else threadgroup_barrier(mem_flags::mem_none);

// SIMD operation in divergent flow
// grid 1 64
// want divergent-simd | simd_sum | 7 of 32
if (lane < 7) b[i] = simd_sum(1u);

// two SIMD operations at once
// grid 1 32
// want divergent-simd | another SIMD-group operation
if (lane < 7) {
 b[i] = simd_sum(1u);
 } else {
 b[i] = simd_max(1u);
 }

// two SIMD operations on one line
// grid 1 32
// want divergent-simd | another SIMD-group operation | program_source:6
b[i] = lane < 7 ? simd_sum(1u) : simd_sum(2u);

// SIMD operation beside a barrier
// grid 1 32
// want divergent-simd | threadgroup_barrier
if (lane < 7) {
 b[i] = simd_sum(1u);
 } else {
 threadgroup_barrier(mem_flags::mem_none);
 }

// too much threadgroup memory
// grid 1 64
// want threadgroup-memory | 32768
threadgroup uint x[9000]; x[lid] = 1; b[i] = x[lid];

// all of the threadgroup memory
// grid 1 64
threadgroup uint x[4096];
threadgroup uint y[4096];
x[lid] = y[lid] = 1;
b[i] = x[lid] + y[lid];

// read of a constant
// grid 1 32
b[i] = tableau[lid & 3];

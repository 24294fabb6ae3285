// syntax
// want program_source:4:10: error
kernel void k(device uint* a [[buffer(0)]]) {
  a[0] = bogus;
}

// double
// want program_source:3: error: 'double' is not supported
kernel void k(device double* a [[buffer(0)]]) {}

// long long
// want 'long long' is not supported
kernel void k(device long long* a [[buffer(0)]]) {}

// simd_sum of long
// want 64-bit integers
kernel void k(device long* a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  a[i] = simd_sum(a[i]);
}

// shuffle of long
// want as_type<uint2>
kernel void k(device long* a [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  a[i] = simd_shuffle_down(a[i], 1);
}

// simd_and of float
// want simd_and
kernel void k(device float* a [[buffer(0)]]) {
  a[0] = simd_and(a[0]);
}

// implicit simd_vote
// want simd_vote
kernel void k(device uint* a [[buffer(0)]]) {
  a[0] = simd_ballot(true);
}

// 64-bit atomic add
// want 32-bit atomics
kernel void k(device atomic_ulong* a [[buffer(0)]]) {
  atomic_fetch_add_explicit(a, 1ul, memory_order_relaxed);
}

// atomic float maximum
// want int and uint only
kernel void k(device atomic_float* a [[buffer(0)]]) {
  atomic_fetch_max_explicit(a, 1.0f, memory_order_relaxed);
}

// acquire
// want memory_order_acquire
kernel void k(device atomic_uint* a [[buffer(0)]]) {
  atomic_load_explicit(a, memory_order_acquire);
}

// plain use of an atomic
// want program_source:4
kernel void k(device atomic_uint* a [[buffer(0)]], device uint* b [[buffer(1)]]) {
  b[0] = a[0];
}

// write to constant
// want read-only
kernel void k(constant uint* a [[buffer(0)]]) {
  a[0] = 1;
}

// no address space
// want needs an address space
kernel void k(uint* a [[buffer(0)]]) {}

// no attribute
// want without an attribute
kernel void k(device uint* a) {}

// unknown attribute
// want 'thread_position' is not known
kernel void k(uint a [[thread_position]]) {}

// index too large
// want index of 0 to 30
kernel void k(device uint* a [[buffer(31)]]) {}

// buffer by value
// want must be a pointer or a reference
kernel void k(uint a [[buffer(0)]]) {}

// kernel with a result
// want void return type
kernel uint k(device uint* a [[buffer(0)]]) { return 1; }

// threadgroup initializer
// want initializer
kernel void k(device uint* a [[buffer(0)]]) {
  threadgroup uint x = 0;
 a[0] = x; }

// threadgroup variable in a helper
// want only be declared in a kernel function
static uint f() { threadgroup uint x[4]; return x[0]; }
kernel void k(device uint* a [[buffer(0)]]) { a[0] = f(); }

// global variable
// want constant address space
static uint counter = 0;
kernel void k(device uint* a [[buffer(0)]]) { a[0] = counter; }

// global array
// want constant address space
uint table[4];
kernel void k(device uint* a [[buffer(0)]]) { a[0] = table[0]; }

// C++ library
// want 'std' is not supported
kernel void k(device uint* a [[buffer(0)]]) { a[0] = std::min(a[0], a[1]); }

// goto
// want 'goto' is not supported
kernel void k(device uint* a [[buffer(0)]]) { again: if (a[0]) goto again; }

// as_type of another size
// want as_type needs types of equal size
kernel void k(device uint* a [[buffer(0)]]) { a[0] = as_type<uint>(1ul); }

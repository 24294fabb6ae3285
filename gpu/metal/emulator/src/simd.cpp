// SIMD-group operations: a lane leaves its operand and waits; when all lanes have come,
// complete_simd computes every lane's result.
#include "worker.h"
#include <cstring>

namespace emu {

namespace {

// The numbers are shared with include/metal_simdgroup.
enum Operation {
    kSum,
    kProduct,
    kMin,
    kMax,
    kAnd,
    kOr,
    kXor,
    kExclusiveSum,
    kInclusiveSum,
    kExclusiveProduct,
    kInclusiveProduct,
    kBallot,
    kShuffle,
    kShuffleDown,
    kShuffleUp,
    kShuffleXor,
    kBroadcast,
    kBroadcastFirst,
    kAll,
    kAny,
    kActive,
    kIsFirst
};

const char* const names[] = {
    "simd_sum",
    "simd_product",
    "simd_min",
    "simd_max",
    "simd_and",
    "simd_or",
    "simd_xor",
    "simd_prefix_exclusive_sum",
    "simd_prefix_inclusive_sum",
    "simd_prefix_exclusive_product",
    "simd_prefix_inclusive_product",
    "simd_ballot",
    "simd_shuffle",
    "simd_shuffle_down",
    "simd_shuffle_up",
    "simd_shuffle_xor",
    "simd_broadcast",
    "simd_broadcast_first",
    "simd_all",
    "simd_any",
    "simd_active_threads_mask",
    "simd_is_first",
};

enum Type { kUint, kInt, kFloat };

// What a lane gets from a lane that is not there: undefined, so something that shows.
constexpr uint32_t kGarbage = 0xDEADF00D;

template <class T> T from_bits(uint32_t v) {
    T t;
    memcpy(&t, &v, sizeof t);
    return t;
}

template <class T> uint32_t to_bits(T t) {
    uint32_t v;
    memcpy(&v, &t, sizeof v);
    return v;
}

template <class T> T combine(int operation, T a, T b) {
    switch (operation) {
    case kSum:
    case kExclusiveSum:
    case kInclusiveSum:
        return a + b;
    case kProduct:
    case kExclusiveProduct:
    case kInclusiveProduct:
        return a * b;
    case kMin:
        return b < a || a != a ? b : a;
    default:
        return a < b || a != a ? b : a;
    }
}

// Reductions and prefix operations, in lane order.
template <class T> void arithmetic(Fiber** lanes, int count, int operation) {
    bool exclusive = operation == kExclusiveSum || operation == kExclusiveProduct;
    bool inclusive = operation == kInclusiveSum || operation == kInclusiveProduct;
    T total = T(operation == kExclusiveProduct ? 1 : 0);
    for (int i = 0; i < count; i++) {
        T v = from_bits<T>(lanes[i]->in[0]);
        if (exclusive)
            lanes[i]->out[0] = to_bits(total);
        total = i == 0 ? v : combine(operation, total, v);
        if (inclusive)
            lanes[i]->out[0] = to_bits(total);
    }
    if (exclusive || inclusive)
        return;
    for (int i = 0; i < count; i++)
        lanes[i]->out[0] = to_bits(total);
}

void bitwise(Fiber** lanes, int count, int operation) {
    uint32_t total = lanes[0]->in[0];
    for (int i = 1; i < count; i++) {
        uint32_t v = lanes[i]->in[0];
        total = operation == kAnd ? total & v : operation == kOr ? total | v : total ^ v;
    }
    for (int i = 0; i < count; i++)
        lanes[i]->out[0] = total;
}

void vote(Fiber** lanes, int count, int operation) {
    uint32_t yes = 0, active = 0;
    for (int i = 0; i < count; i++) {
        uint32_t bit = 1u << lanes[i]->context.lane;
        active |= bit;
        if (lanes[i]->in[0])
            yes |= bit;
    }
    for (int i = 0; i < count; i++) {
        uint32_t& out = lanes[i]->out[0];
        switch (operation) {
        case kBallot:
            out = yes;
            break;
        case kActive:
            out = active;
            break;
        case kAll:
            out = yes == active;
            break;
        case kIsFirst:
            out = i == 0;
            break;
        default:
            out = yes != 0;
        }
    }
}

// The lane that f reads from.
int source_lane(const Fiber* f, const Fiber* first, int operation) {
    int lane = (int)f->context.lane, argument = (int)f->argument;
    switch (operation) {
    case kShuffleDown:
        return lane + argument < (int)kSimdWidth ? lane + argument : lane;
    case kShuffleUp:
        return lane >= argument ? lane - argument : lane;
    case kShuffleXor:
        return lane ^ argument;
    case kBroadcastFirst:
        return (int)first->context.lane;
    default:
        return argument;
    }
}

void shuffle(Fiber** lanes, int count, const Fiber* base, int width, int operation) {
    bool active[kSimdWidth] = {};
    for (int i = 0; i < count; i++)
        active[lanes[i]->context.lane] = true;
    for (int i = 0; i < count; i++) {
        Fiber* f = lanes[i];
        int source = source_lane(f, lanes[0], operation);
        bool there = source >= 0 && source < width && active[source];
        for (int k = 0; k < f->words; k++)
            f->out[k] = there ? base[source].in[k] : kGarbage;
    }
}

} // namespace

const char* simd_name(int operation) {
    return names[operation];
}

void complete_simd(Fiber** lanes, int count, const Fiber* base, int width) {
    int operation = lanes[0]->operation;
    switch (operation) {
    case kSum:
    case kProduct:
    case kMin:
    case kMax:
    case kExclusiveSum:
    case kInclusiveSum:
    case kExclusiveProduct:
    case kInclusiveProduct:
        if (lanes[0]->type == kUint)
            arithmetic<uint32_t>(lanes, count, operation);
        else if (lanes[0]->type == kInt)
            arithmetic<int32_t>(lanes, count, operation);
        else
            arithmetic<float>(lanes, count, operation);
        break;
    case kAnd:
    case kOr:
    case kXor:
        bitwise(lanes, count, operation);
        break;
    case kBallot:
    case kActive:
    case kAll:
    case kAny:
    case kIsFirst:
        vote(lanes, count, operation);
        break;
    default:
        shuffle(lanes, count, base, width, operation);
    }
    for (int i = 0; i < count; i++)
        lanes[i]->state = FiberState::Ready;
}

// Called by kernels.
EMU_API void metalemu_simd(uint32_t operation, uint32_t type, uint32_t words, const uint32_t* in,
                           uint32_t argument, uint32_t* out, int place) {
    Worker* w = this_worker;
    Fiber* f = w->current;
    f->operation = (uint8_t)operation;
    f->type = (uint8_t)type;
    f->words = (uint8_t)words;
    f->argument = argument;
    f->place = place;
    memcpy(f->in, in, words * sizeof *in);
    f->state = FiberState::SimdOperation;
    yield_fiber(w, f);
    memcpy(out, f->out, words * sizeof *out);
}

EMU_API void metalemu_barrier(uint32_t of_simdgroup, uint32_t flags, int place) {
    Worker* w = this_worker;
    Fiber* f = w->current;
    f->place = place;
    f->flags = flags;
    f->state = of_simdgroup ? FiberState::SimdBarrier : FiberState::ThreadgroupBarrier;
    yield_fiber(w, f);
}

EMU_API void* metalemu_threadgroup_memory(uint32_t id, uint64_t size, uint64_t align, const char* name) {
    return shared_memory(this_worker, id, size, align, name);
}

} // namespace emu

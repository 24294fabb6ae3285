// MTLDevice: limits, and everything that a device makes.
#include "metal.h"
#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace emu {

MetalClasses metal;

namespace {

constexpr uint64_t kMaxBufferLength = 8ull << 30;
constexpr uint64_t kWorkingSet = 16ull << 30;
constexpr uint64_t kPageSize = 16384; // of Apple silicon
constexpr int kMaxDevices = 8;
constexpr uint64_t kHazardMask = 3 << 8, kUntracked = 1 << 8;

Device* devices[kMaxDevices];
Device* wide_device;

std::string device_name(const Device* d) {
    if (d->wide)
        return "Emulated wide device";
    return d->index == 0 ? "Emulated Metal device"
                         : format("Emulated Metal device %lu", (unsigned long)d->index + 1);
}

// Families are Apple1..Apple7 and Metal3.
bool supports_family(int64_t family) {
    return (family >= 1001 && family <= 1007) || family == 5001;
}

// Zeroed memory at a multiple of the page size.
uint8_t* map_pages(size_t length) {
    size_t size = (length + kPageSize - 1) / kPageSize * kPageSize;
    auto raw = (uint8_t*)mmap(nullptr, size + kPageSize, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return nullptr;
    auto p = (uint8_t*)(((uintptr_t)raw + kPageSize - 1) / kPageSize * kPageSize);
    if (p != raw)
        munmap(raw, (size_t)(p - raw));
    size_t tail = (size_t)(raw + size + kPageSize - (p + size));
    if (tail)
        munmap(p + size, tail);
    return p;
}

Buffer* make_buffer(Device* d, uint8_t* bytes, uint64_t length, uint64_t options, bool owned) {
    auto b = make<Buffer>(metal.buffer);
    b->device = d;
    b->bytes = bytes;
    b->length = length;
    b->owned = owned;
    b->tracked = (options & kHazardMask) != kUntracked;
    return b;
}

bool check_storage(const char* what, uint64_t options) {
    uint64_t mode = options >> 4 & 15; // shared 0, managed 1, private 2, memoryless 3
    if (mode > 2)
        violation("buffer", "%s: storage mode %lu", what, (unsigned long)mode);
    return mode <= 2;
}

Object* new_buffer(Device* d, SEL, uint64_t length, uint64_t options) {
    if (!length) {
        violation("buffer", "newBufferWithLength:options: with length 0");
        return nullptr;
    }
    check_storage("newBufferWithLength:options:", options);
    if (countdown(Option::FailAlloc) || length > kMaxBufferLength)
        return nullptr;
    uint8_t* p = map_pages(length);
    if (!p)
        return nullptr;
    constexpr int kGarbage = 0xCB;
    memset(p, kGarbage, std::min(length, (uint64_t)option(Option::FillKib) << 10));
    return make_buffer(d, p, length, options, true);
}

Object* wrap_buffer(Device* d, SEL, uint8_t* p, uint64_t length, uint64_t options, void* deallocator) {
    auto page = (uint64_t)option(Option::Page);
    if (!p || (uintptr_t)p % page || !length || length % page) {
        violation(
            "buffer",
            "newBufferWithBytesNoCopy: pointer %p and length %lu must be multiples of the page size %lu",
            (void*)p, (unsigned long)length, (unsigned long)page);
        return nullptr;
    }
    if ((options >> 4 & 15) > 1)
        violation("buffer", "newBufferWithBytesNoCopy: storage mode must be shared");
    if (deallocator)
        violation("buffer", "newBufferWithBytesNoCopy: deallocator blocks are not emulated");
    if (countdown(Option::FailAlloc) || length > kMaxBufferLength)
        return nullptr;
    return make_buffer(d, p, length, options, false);
}

void define_limits(Class* c) {
    method(c, "name", "@@:", [](Device* d, SEL) { return ns_string(device_name(d)); });
    method(c, "registryID", "Q@:", [](Device* d, SEL) -> uint64_t { return 0x100 + d->index; });
    method(c, "hasUnifiedMemory", "B@:", [](Object*, SEL) { return boolean(true); });
    method(c, "isLowPower", "B@:", [](Object*, SEL) { return boolean(false); });
    method(c, "isHeadless", "B@:", [](Object*, SEL) { return boolean(false); });
    method(c, "supportsFamily:", "B@:q", [](Object*, SEL, int64_t f) { return boolean(supports_family(f)); });
    method(c, "maxBufferLength", "Q@:", [](Object*, SEL) -> uint64_t { return kMaxBufferLength; });
    method(c, "recommendedMaxWorkingSetSize", "Q@:", [](Object*, SEL) -> uint64_t { return kWorkingSet; });
    method(c, "maxThreadgroupMemoryLength",
           "Q@:", [](Object* d, SEL) -> uint64_t { return ((Device*)d)->wide ? kWideThreadgroupMemory : kThreadgroupMemory; });
}

} // namespace

Buffer::~Buffer() {
    forget_memory((uintptr_t)bytes, (uintptr_t)bytes + length);
    // Unmapped, so that a late access by the host faults.
    if (owned)
        munmap(bytes, (length + kPageSize - 1) / kPageSize * kPageSize);
}

bool expect_object(Object* o, Class* c, const char* what) {
    if (is_alive(o) && o->isa == c)
        return true;
    if (is_object(o) && o->state == kDead)
        violation("use-after-free", "%s with deallocated %s #%u", what, class_name(o), o->serial);
    else
        violation("bad-object", "%s with %p, which is no object of the kind it takes", what, (void*)o);
    return false;
}

bool same_device(const Device* a, const Device* b, const char* what) {
    if (a == b)
        return true;
    violation("foreign-device", "%s with an object of another device", what);
    return false;
}

void define_buffer() {
    Class* c = metal.buffer = define<Buffer>("EmuMTLBuffer", ns_object);
    method(c, "contents", "^v@:", [](Buffer* b, SEL) -> void* { return b->bytes; });
    method(c, "length", "Q@:", [](Buffer* b, SEL) -> uint64_t { return b->length; });
    method(c, "device", "@@:", [](Buffer* b, SEL) -> Object* { return b->device; });
}

void define_device() {
    Class* c = metal.device = define<Device>("EmuMTLDevice", ns_object);
    define_limits(c);
    method(c, "newBufferWithLength:options:", "@@:QQ", new_buffer);
    method(c, "newBufferWithBytesNoCopy:length:options:deallocator:", "@@:^vQQ@?", wrap_buffer);
    method(c, "newCommandQueue", "@@:", [](Device* d, SEL) -> Object* {
        auto q = make<Queue>(metal.queue);
        q->device = d;
        q->state = start_queue();
        return q;
    });
    method(c, "newSharedEvent", "@@:", [](Device* d, SEL) -> Object* {
        auto e = make<Event>(metal.event);
        e->device = d;
        return e;
    });
    method(c, "newFence", "@@:", [](Device* d, SEL) -> Object* {
        auto f = make<Fence>(metal.fence);
        f->device = d;
        return f;
    });
    for (int i = 0; i < kMaxDevices; i++) {
        devices[i] = make<Device>(c);
        devices[i]->index = (uint64_t)i;
    }
    wide_device = make<Device>(c);
    wide_device->index = kMaxDevices;
    wide_device->wide = true;
}

EMU_API Object* MTLCreateSystemDefaultDevice() {
    return retain(option(Option::Profile) ? wide_device : devices[0]);
}

// The caller owns the array.
EMU_API Object* MTLCopyAllDevices() {
    if (option(Option::Profile))
        return ns_array((Object* const*)&wide_device, 1);
    int64_t count = option(Option::Devices);
    count = count < 1 ? 1 : count > kMaxDevices ? kMaxDevices : count;
    return ns_array((Object* const*)devices, (size_t)count);
}

} // namespace emu

// Shared events and fences.
#include "metal.h"
#include <chrono>

namespace emu {

std::mutex& event_mutex() {
    static auto& m = *new std::mutex;
    return m;
}

std::condition_variable& event_changed() {
    static auto& c = *new std::condition_variable;
    return c;
}

// The host has read this value: all work behind it is known to be done.
static void host_reads(Event* e, uint64_t value) {
    if (value == e->seen.load(std::memory_order_acquire))
        return;
    Clock clock;
    {
        std::lock_guard<std::mutex> lock(order_mutex);
        clock = e->clock;
    }
    host_sees(clock);
    // Last: a second thread that finds the value seen skips the clock, so the
    // host must have it by then.
    e->seen.store(value, std::memory_order_release);
}

static uint64_t signaled_value(Event* e, SEL) {
    uint64_t v = e->value.load(std::memory_order_acquire);
    host_reads(e, v);
    return v;
}

static void set_signaled_value(Event* e, SEL, uint64_t value) {
    host_signals(&e->clock);
    {
        std::lock_guard<std::mutex> lock(event_mutex());
        e->value = value;
    }
    event_changed().notify_all();
}

static uint64_t wait_until_signaled(Event* e, SEL, uint64_t value, uint64_t milliseconds) {
    bool reached;
    {
        std::unique_lock<std::mutex> lock(event_mutex());
        // Longer than a day is for ever; more would overflow the deadline.
        constexpr uint64_t kLongest = 24ull * 3600 * 1000;
        auto limit = std::chrono::milliseconds(std::min(milliseconds, kLongest));
        reached = event_changed().wait_for(lock, limit, [&] { return e->value >= value; });
    }
    if (reached)
        host_reads(e, e->value);
    return boolean(reached);
}

void define_events() {
    Class* c = metal.event = define<Event>("EmuMTLSharedEvent", ns_object);
    method(c, "signaledValue", "Q@:", signaled_value);
    method(c, "setSignaledValue:", "v@:Q", set_signaled_value);
    method(c, "waitUntilSignaledValue:timeoutMS:", "B@:QQ", wait_until_signaled);
    metal.fence = define<Fence>("EmuMTLFence", ns_object);
}

} // namespace emu

// Autorelease pools: a stack for each OS thread, as in the real runtime.
#include "objc.h"
#include <deque>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace emu {

namespace {

struct Pool {
    long thread;
    size_t depth; // pools below this one
    size_t mark;  // pending objects below this pool
    bool open;
};

// A popped token stays allocated for a while, so that popping it twice is seen for what it is.
constexpr size_t kPoppedTokens = 4096;
std::mutex popped_mutex;
auto& popped = *new std::deque<Pool*>;

thread_local std::vector<Object*> pending;
thread_local std::vector<Pool*> pools;

long thread_id() {
    static thread_local long id = syscall(SYS_gettid);
    return id;
}

} // namespace

Object* autorelease(Object* o) {
    if (!o)
        return o;
    if (!is_alive(o)) {
        violation("use-after-free", "autorelease of %p, which is no live object", (void*)o);
        return o;
    }
    if (pools.empty()) {
        violation("no-pool", "%s #%u autoreleased on thread %ld with no pool in place: it leaks",
                  class_name(o), o->serial, thread_id());
        return o;
    }
    pending.push_back(o);
    return o;
}

EMU_API void* objc_autoreleasePoolPush() {
    auto p = new Pool{thread_id(), pools.size(), pending.size(), true};
    pools.push_back(p);
    return p;
}

EMU_API void objc_autoreleasePoolPop(void* token) {
    auto p = (Pool*)token;
    if (!p->open) {
        violation("pool", "autorelease pool popped twice");
        return;
    }
    if (p->thread != thread_id()) {
        violation("pool",
                  "pool pushed on thread %ld, popped on thread %ld "
                  "(goroutine moved: runtime.LockOSThread is missing)",
                  p->thread, thread_id());
        return;
    }
    if (pools.empty() || pools.back() != p)
        violation("pool", "pools popped out of order");
    p->open = false;
    pools.resize(p->depth);
    while (pending.size() > p->mark) {
        Object* o = pending.back();
        pending.pop_back();
        release(o);
    }
    std::lock_guard<std::mutex> lock(popped_mutex);
    popped.push_back(p);
    if (popped.size() > kPoppedTokens) {
        delete popped.front();
        popped.pop_front();
    }
}

} // namespace emu

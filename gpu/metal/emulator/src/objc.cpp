#include "objc.h"
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unordered_map>

namespace emu {

struct Selector {
    char name[120];
    bool implemented; // some class has a method of this name
};

struct Method {
    void* code;
    const char* encoding;
};

struct Class : Object {
    const char* name;
    Class* super;
    Class* meta; // null in a metaclass
    std::unordered_map<SEL, Method>* methods;
    void (*destroy)(Object*);
    std::atomic<int64_t> live;
};

namespace {

constexpr size_t kSlots = 1u << 22;
constexpr size_t kQuarantine = 8192; // dead slots kept before one is used again
constexpr size_t kMaxSelectors = 8192;

// Everything global, built on first use: the order of static constructors does not matter.
struct Runtime {
    uint8_t* slots;
    std::atomic<size_t> used{0};
    std::atomic<uint32_t> serial{1};
    std::mutex quarantine_mutex;
    std::deque<Object*> quarantine;

    std::mutex name_mutex;
    Selector* selectors;
    std::atomic<size_t> selector_count{0};
    std::unordered_map<std::string, Selector*> selector_by_name;
    std::unordered_map<std::string, Class*> classes;

    Runtime() {
        void* p = mmap(nullptr, kSlotSize * kSlots, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            abort();
        slots = (uint8_t*)p;
        selectors = new Selector[kMaxSelectors]();
    }
};

Runtime& runtime() {
    static auto& r = *new Runtime;
    return r;
}

Selector* intern(const char* name) {
    Runtime& rt = runtime();
    std::lock_guard<std::mutex> lock(rt.name_mutex);
    auto& entry = rt.selector_by_name[name];
    if (!entry) {
        size_t i = rt.selector_count;
        if (i == kMaxSelectors || strlen(name) >= sizeof entry->name) {
            violation("bad-selector", "too many or too long: %s", name);
            abort();
        }
        entry = &rt.selectors[i];
        strcpy(entry->name, name);
        rt.selector_count = i + 1;
    }
    return entry;
}

Method* lookup(Class* c, SEL s) {
    for (; c; c = c->super) {
        auto it = c->methods->find(s);
        if (it != c->methods->end())
            return &it->second;
    }
    return nullptr;
}

bool is_class(const Object* o) {
    return o->isa->meta == nullptr;
}

bool check_alive(const char* what, Object* o) {
    if (!is_object(o)) {
        violation("bad-object", "%s sent to %p, which is no object", what, (void*)o);
        return false;
    }
    if (o->state == kDead) {
        violation("use-after-free", "%s sent to deallocated %s #%u", what, o->isa->name, o->serial);
        return false;
    }
    return true;
}

Class* bare_class(const char* name) {
    auto c = make<Class>(nullptr);
    c->name = name;
    c->methods = new std::unordered_map<SEL, Method>;
    return c;
}

} // namespace

Object* take_slot() {
    Runtime& rt = runtime();
    Object* slot = nullptr;
    {
        std::lock_guard<std::mutex> lock(rt.quarantine_mutex);
        if (rt.quarantine.size() > kQuarantine) {
            slot = rt.quarantine.front();
            rt.quarantine.pop_front();
        }
    }
    if (!slot) {
        size_t i = rt.used++;
        if (i >= kSlots) {
            violation("leak", "%zu objects are alive", kSlots);
            abort();
        }
        slot = (Object*)(rt.slots + i * kSlotSize);
    }
    memset((void*)slot, 0, kSlotSize);
    return slot;
}

void finish_object(Object* o, Class* c) {
    o->isa = c;
    o->references = 1;
    o->state = kAlive;
    o->serial = runtime().serial++;
    if (c)
        c->live++;
}

bool is_object(const void* p) {
    Runtime& rt = runtime();
    auto u = (const uint8_t*)p;
    if (u < rt.slots || u >= rt.slots + kSlotSize * kSlots)
        return false;
    return (size_t)(u - rt.slots) % kSlotSize == 0 && ((const Object*)p)->isa;
}

bool is_alive(const Object* o) {
    return is_object(o) && o->state == kAlive;
}

const char* class_name(const Object* o) {
    return o->isa->name;
}

Class* define_class(const char* name, Class* super, void (*destroy)(Object*)) {
    Class* c = bare_class(name);
    c->super = super;
    c->destroy = destroy;
    c->meta = bare_class(name);
    c->isa = c->meta;
    c->meta->isa = c->meta;
    c->meta->super = super ? super->meta : nullptr;
    runtime().classes[name] = c;
    return c;
}

void add_method(Class* c, const char* selector, const char* encoding, void* code, bool of_class) {
    Selector* s = intern(selector);
    s->implemented = true;
    Class* target = of_class ? c->meta : c;
    (*target->methods)[s] = Method{code, encoding};
}

void* find_method(const Object* o, SEL s) {
    Method* m = lookup(o->isa, s);
    return m ? m->code : nullptr;
}

const char* selector_name(SEL s) {
    return s->name;
}

Class* class_named(const char* name) {
    auto& classes = runtime().classes;
    auto it = classes.find(name);
    return it == classes.end() ? nullptr : it->second;
}

Object* retain(Object* o) {
    if (o && check_alive("retain", o))
        o->references++;
    return o;
}

void release(Object* o) {
    if (!o || !check_alive("release", o) || is_class(o))
        return;
    if (--o->references != 0)
        return;
    Class* c = o->isa;
    if (c->destroy)
        c->destroy(o);
    o->state = kDead;
    c->live--;
    Runtime& rt = runtime();
    std::lock_guard<std::mutex> lock(rt.quarantine_mutex);
    rt.quarantine.push_back(o);
}

// Called by objc_msgSend (message.cpp) with the receiver and the selector of a message.
static void* answer_nothing() {
    return nullptr;
}

static std::atomic<uint64_t> message_count{0};

static bool is_selector(SEL s) {
    Runtime& rt = runtime();
    auto offset = (uintptr_t)s - (uintptr_t)rt.selectors;
    return offset % sizeof(Selector) == 0 && offset / sizeof(Selector) < rt.selector_count;
}

EMU_API void* metalemu_find_implementation(Object* o, SEL s) {
    message_count.fetch_add(1, std::memory_order_relaxed);
    if (!is_selector(s)) {
        violation("bad-selector", "%p is no registered selector", (const void*)s);
        return (void*)answer_nothing;
    }
    if (!check_alive(s->name, o))
        return (void*)answer_nothing;
    if (Method* m = lookup(o->isa, s))
        return m->code;
    violation("unrecognized-selector", "%c[%s %s]: unrecognized selector sent to %p", is_class(o) ? '+' : '-',
              o->isa->name, s->name, (void*)o);
    return (void*)answer_nothing;
}

EMU_API void metalemu_message_to_nil(SEL s) {
    if (option(Option::NilStrict))
        violation("nil-message", "%s sent to nil", is_selector(s) ? s->name : "?");
}

// The number of messages sent so far.
EMU_API uint64_t metalemu_messages() {
    return message_count.load();
}

// Objects that are there before the program makes any.
static uint32_t last_own_object = 0;

void end_of_setup() {
    last_own_object = runtime().serial - 1;
}

// Reports, by class, what the program has made or retained and not released.
EMU_API uint64_t metalemu_report_leaks() {
    Runtime& rt = runtime();
    std::map<std::string, std::pair<uint64_t, uint32_t>> leaks; // by class: count, serial of the first
    for (size_t i = 0; i < rt.used; i++) {
        auto o = (Object*)(rt.slots + i * kSlotSize);
        if (!is_alive(o) || is_class(o) || (o->serial <= last_own_object && o->references == 1))
            continue;
        auto& leak = leaks.emplace(o->isa->name, std::make_pair(0, o->serial)).first->second;
        leak.first++;
    }
    for (auto& l : leaks)
        violation("leak", "%lu objects of class %s were not released, e.g. #%u",
                  (unsigned long)l.second.first, l.first.c_str(), l.second.second);
    return leaks.size();
}

// Live objects of a class; -1 if there is no such class.
EMU_API int64_t metalemu_live(const char* name) {
    Class* c = class_named(name);
    return c ? c->live.load() : -1;
}

EMU_API SEL sel_registerName(const char* name) {
    return intern(name);
}

EMU_API const char* sel_getName(SEL s) {
    return s->name;
}

EMU_API Class* objc_getClass(const char* name) {
    return class_named(name);
}

EMU_API Class* object_getClass(Object* o) {
    return o ? o->isa : nullptr;
}

EMU_API const char* class_getName(Class* c) {
    return c->name;
}

EMU_API Method* class_getInstanceMethod(Class* c, SEL s) {
    return lookup(c, s);
}

EMU_API Method* class_getClassMethod(Class* c, SEL s) {
    return lookup(c->meta, s);
}

EMU_API const char* method_getTypeEncoding(Method* m) {
    return m->encoding;
}

EMU_API Object* objc_retain(Object* o) {
    return retain(o);
}

EMU_API void objc_release(Object* o) {
    release(o);
}

EMU_API Object* objc_autorelease(Object* o) {
    return autorelease(o);
}

} // namespace emu

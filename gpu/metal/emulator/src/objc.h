// A small, strict Objective-C runtime: objects, classes, selectors, retain counts.
#pragma once
#include "control.h"
#include <atomic>
#include <cstddef>
#include <new>
#include <string>

namespace emu {

struct Class;
struct Selector;
using SEL = const Selector*;

enum : uint32_t { kAlive = 0x0b1ec700, kDead = 0xdeadbea7 };

// The first word of every object is its class, as in the real runtime.
struct Object {
    Class* isa;
    std::atomic<int64_t> references;
    uint32_t state;
    uint32_t serial;
};

// Objects live in slots of one size, so that any pointer can be judged.
constexpr size_t kSlotSize = 256;

Object* take_slot();
void finish_object(Object* o, Class* c);
Class* define_class(const char* name, Class* super, void (*destroy)(Object*));
void add_method(Class* c, const char* selector, const char* encoding, void* code, bool of_class);

Object* retain(Object* o);
void release(Object* o);
Object* autorelease(Object* o);
bool is_object(const void* p);
bool is_alive(const Object* o);
const char* class_name(const Object* o);
void* find_method(const Object* o, SEL s);
const char* selector_name(SEL s);
Class* class_named(const char* name);
void end_of_setup(); // what is alive now is no leak

// A new object with one reference.
template <class T> T* make(Class* c) {
    static_assert(sizeof(T) <= kSlotSize, "object does not fit its slot");
    T* t = new (take_slot()) T();
    finish_object(t, c);
    return t;
}

template <class T> Class* define(const char* name, Class* super) {
    return define_class(name, super, [](Object* o) { static_cast<T*>(o)->~T(); });
}

// Methods are plain functions of (self, selector, arguments...): captureless lambdas.
template <class F> void method(Class* c, const char* selector, const char* encoding, F f) {
    add_method(c, selector, encoding, (void*)+f, false);
}

template <class F> void class_method(Class* c, const char* selector, const char* encoding, F f) {
    add_method(c, selector, encoding, (void*)+f, true);
}

// A BOOL result is the low byte only: the ABI leaves the rest of the register undefined.
inline uint64_t boolean(bool b) {
    return 0xA5A5A5A5A5A5A500ull | (b ? 1 : 0);
}

// Foundation.
extern Class* ns_object;
Object* ns_string(const std::string& s); // autoreleased
std::string text_of(Object* string);
Object* ns_error(const char* domain, int64_t code, const std::string& message); // autoreleased
Object* ns_array(Object* const* items, size_t count);                           // one reference

} // namespace emu

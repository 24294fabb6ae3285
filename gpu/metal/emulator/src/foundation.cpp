// The few Foundation classes that a Metal program meets.
#include "objc.h"
#include <vector>

namespace emu {

Class* ns_object;

namespace {

constexpr uint64_t kUTF8 = 4; // NSUTF8StringEncoding

struct String : Object {
    std::string text;
};

struct Error : Object {
    std::string domain;
    int64_t code;
    std::string message;
};

struct Array : Object {
    std::vector<Object*> items;
    ~Array() {
        for (Object* o : items)
            release(o);
    }
};

Class* string_class;
Class* error_class;
Class* array_class;

void define_object() {
    ns_object = define_class("NSObject", nullptr, nullptr);
    method(ns_object, "init", "@@:", [](Object* o, SEL) { return o; });
    method(ns_object, "retain", "@@:", [](Object* o, SEL) { return retain(o); });
    method(ns_object, "release", "v@:", [](Object* o, SEL) { release(o); });
    method(ns_object, "autorelease", "@@:", [](Object* o, SEL) { return autorelease(o); });
    method(ns_object, "retainCount", "Q@:", [](Object* o, SEL) { return (uint64_t)o->references.load(); });
    method(ns_object, "respondsToSelector:", "B@::", [](Object* o, SEL, SEL s) {
        return boolean(find_method(o, s) != nullptr);
    });
}

void define_string() {
    Class* c = string_class = define<String>("NSString", ns_object);
    class_method(c, "alloc", "@@:", [](Class* self, SEL) -> Object* { return make<String>(self); });
    class_method(c, "stringWithUTF8String:", "@@:*",
                 [](Class*, SEL, const char* s) -> Object* { return ns_string(s); });
    method(c, "initWithUTF8String:", "@@:*", [](String* self, SEL, const char* s) -> Object* {
        self->text = s;
        return self;
    });
    method(c, "initWithBytes:length:encoding:", "@@:^vQQ",
           [](String* self, SEL, const char* bytes, uint64_t length, uint64_t encoding) -> Object* {
               if (encoding != kUTF8)
                   violation("nsstring", "encoding %lu is not UTF-8", (unsigned long)encoding);
               self->text.assign(bytes, length);
               return self;
           });
    method(c, "UTF8String", "*@:", [](String* self, SEL) { return self->text.c_str(); });
    method(c, "lengthOfBytesUsingEncoding:", "Q@:Q",
           [](String* self, SEL, uint64_t) { return (uint64_t)self->text.size(); });
}

void define_error() {
    Class* c = error_class = define<Error>("NSError", ns_object);
    method(c, "localizedDescription", "@@:", [](Error* self, SEL) { return ns_string(self->message); });
    method(c, "code", "q@:", [](Error* self, SEL) { return self->code; });
    method(c, "domain", "@@:", [](Error* self, SEL) { return ns_string(self->domain); });
}

void define_array() {
    Class* c = array_class = define<Array>("NSArray", ns_object);
    method(c, "count", "Q@:", [](Array* self, SEL) { return (uint64_t)self->items.size(); });
    method(c, "objectAtIndex:", "@@:Q", [](Array* self, SEL, uint64_t i) -> Object* {
        if (i < self->items.size())
            return self->items[i];
        violation("nsarray", "index %lu beyond bounds [0 .. %zu)", (unsigned long)i, self->items.size());
        return nullptr;
    });
}

} // namespace

void define_foundation() {
    define_object();
    define_string();
    define_error();
    define_array();
}

Object* ns_string(const std::string& s) {
    auto o = make<String>(string_class);
    o->text = s;
    return autorelease(o);
}

std::string text_of(Object* string) {
    if (!is_alive(string) || string->isa != string_class) {
        violation("nsstring", "%p is no NSString", (void*)string);
        return "";
    }
    return static_cast<String*>(string)->text;
}

Object* ns_error(const char* domain, int64_t code, const std::string& message) {
    auto o = make<Error>(error_class);
    o->domain = domain;
    o->code = code;
    o->message = message;
    return autorelease(o);
}

Object* ns_array(Object* const* items, size_t count) {
    auto o = make<Array>(array_class);
    for (size_t i = 0; i < count; i++)
        o->items.push_back(retain(items[i]));
    return o;
}

} // namespace emu

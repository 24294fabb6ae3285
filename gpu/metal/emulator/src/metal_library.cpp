// Compile options, libraries, functions and pipeline states.
#include "metal.h"

namespace emu {

namespace {

enum MathMode : int64_t { kSafe = 0, kRelaxed = 1, kFast = 2 };

struct CompileOptions : Object {
    int64_t math_mode;
    uint64_t language_version;
};

constexpr int64_t kCompileFailure = 3;   // MTLLibraryErrorCompileFailure
constexpr int64_t kPipelineInternal = 2; // of the compute pipeline's domain

void set_error(Object** error, Object* value) {
    if (error)
        *error = value;
}

Object* new_library(Device* d, SEL, Object* source, CompileOptions* options, Object** error) {
    set_error(error, nullptr);
    if (options && !expect_object(options, metal.options, "newLibraryWithSource:options:error:"))
        return nullptr;
    std::string log;
    Module* m = nullptr;
    if (countdown(Option::FailLibrary))
        log = "program_source:1:1: error: compilation failed (injected)";
    else
        m = compile_msl(text_of(source), !options || options->math_mode == kFast, d->wide, &log);
    if (!m) {
        set_error(error, ns_error("MTLLibraryErrorDomain", kCompileFailure, log));
        return nullptr;
    }
    auto l = make<Library>(metal.library);
    l->device = d;
    l->module = m;
    return l;
}

Object* new_function(Library* l, SEL, Object* name) {
    auto it = l->module->kernels.find(text_of(name));
    if (it == l->module->kernels.end())
        return nullptr;
    auto f = make<Function>(metal.function);
    f->device = l->device;
    f->kernel = &it->second;
    return f;
}

// Some virtual devices fail to make pipelines now and then.
bool fails_at_random() {
    static std::atomic<uint64_t> made{0};
    return (int64_t)scramble((uint64_t)option(Option::Order), made++, 100) <
           option(Option::FailPipelinePercent);
}

Object* new_pipeline(Device* d, SEL, Function* f, Object** error) {
    set_error(error, nullptr);
    const char* what = "newComputePipelineStateWithFunction:error:";
    if (!expect_object(f, metal.function, what) || !same_device(d, f->device, what))
        return nullptr;
    if (countdown(Option::FailPipeline) || fails_at_random()) {
        set_error(error, ns_error("AGXMetalEmulated", kPipelineInternal,
                                  "Compiler encountered an internal error (injected)"));
        return nullptr;
    }
    auto p = make<Pipeline>(metal.pipeline);
    p->device = d;
    p->kernel = f->kernel;
    return p;
}

void define_options() {
    Class* c = metal.options = define<CompileOptions>("MTLCompileOptions", ns_object);
    auto create = [](Class* self, SEL) -> Object* {
        auto o = make<CompileOptions>(self);
        o->math_mode = kFast; // Metal's default
        return o;
    };
    class_method(c, "new", "@@:", create);
    class_method(c, "alloc", "@@:", create);
    method(c, "setFastMathEnabled:", "v@:B",
           [](CompileOptions* o, SEL, bool on) { o->math_mode = on ? kFast : kSafe; });
    method(c, "fastMathEnabled",
           "B@:", [](CompileOptions* o, SEL) { return boolean(o->math_mode == kFast); });
    method(c, "setMathMode:", "v@:q", [](CompileOptions* o, SEL, int64_t mode) { o->math_mode = mode; });
    method(c, "mathMode", "q@:", [](CompileOptions* o, SEL) { return o->math_mode; });
    method(c, "setLanguageVersion:", "v@:Q",
           [](CompileOptions* o, SEL, uint64_t version) { o->language_version = version; });
}

} // namespace

void define_library() {
    define_options();
    metal.library = define<Library>("EmuMTLLibrary", ns_object);
    method(metal.library, "newFunctionWithName:", "@@:@", new_function);
    metal.function = define<Function>("EmuMTLFunction", ns_object);
    method(metal.function, "name", "@@:", [](Function* f, SEL) { return ns_string(f->kernel->name); });
    Class* p = metal.pipeline = define<Pipeline>("EmuMTLComputePipelineState", ns_object);
    method(p, "maxTotalThreadsPerThreadgroup", "Q@:", [](Object*, SEL) -> uint64_t { return kMaxThreads; });
    method(p, "threadExecutionWidth", "Q@:", [](Object*, SEL) -> uint64_t { return kSimdWidth; });
    method(p, "staticThreadgroupMemoryLength", "Q@:", [](Object*, SEL) -> uint64_t { return 0; });
    method(metal.device, "newLibraryWithSource:options:error:", "@@:@@^@", new_library);
    method(metal.device, "newComputePipelineStateWithFunction:error:", "@@:@^@", new_pipeline);
}

} // namespace emu

// CUDA in software, for tests on machines without a GPU: the functions of libcuda and NVRTC that the driver uses.
// Kernels are compiled with g++ and run on the host, a thread a stream; a block's threads are fibers. Every failure can
// be had on request, and everything that lives is counted.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <queue>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))
typedef unsigned long long u64;
struct uint3 { unsigned x, y, z; };
extern "C" {
__attribute__((visibility("default"))) __thread uint3 threadIdx, blockIdx, blockDim, gridDim;
}

namespace {

std::mutex lock;
std::map<std::string, long> live;                             // objects by kind
std::map<std::string, std::pair<long, int>> faults;           // by function: the call that fails, and its status
std::atomic<int> sticky;                                      // the error that ended the context
std::atomic<long> device_limit{8l << 30}, device_used;
std::string header, folder;                                   // host.h, and where images are built
thread_local std::vector<long> current;                       // contexts

void count(const char* kind, long by) {
    std::lock_guard<std::mutex> g(lock);
    live[kind] += by;
}

// planned is the status that a call was asked to fail with, 0 if none.
int planned(const char* function) {
    std::lock_guard<std::mutex> g(lock);
    auto f = faults.find(function);
    if (f == faults.end() || --f->second.first > 0) return 0;
    int status = f->second.second;
    faults.erase(f);
    return status;
}

#define BEGIN                                                                                                          \
    if (int status = planned(__func__)) return status;
#define BEGIN_IN_CONTEXT                                                                                               \
    if (current.empty()) return 201;                                                                                   \
    if (int status = broken()) return status;                                                                          \
    BEGIN

// A block: fibers that run in turns until they meet at a collective or end.
struct Fiber {
    ucontext_t at;
    std::vector<char> stack;
    unsigned index;
    enum { ready, in_warp, in_block, over } state;
    unsigned value;
};
struct Block {
    std::vector<Fiber> fibers;
    ucontext_t home;
    unsigned running;
    unsigned met[32], present; // the values of the warp that met last
    std::function<void()> body;
};
thread_local Block block;

void fiber_main() {
    block.body();
    block.fibers[block.running].state = Fiber::over;
    swapcontext(&block.fibers[block.running].at, &block.home);
}

void pause_fiber(int state) {
    Fiber& f = block.fibers[block.running];
    f.state = (decltype(f.state))state;
    swapcontext(&f.at, &block.home);
}

void resume(unsigned i) {
    block.running = i;
    threadIdx = {i, 0, 0};
    block.fibers[i].state = Fiber::ready;
    swapcontext(&block.home, &block.fibers[i].at);
}

void run_block(unsigned threads, std::function<void()> body) {
    block.body = std::move(body);
    block.fibers.resize(std::max<size_t>(block.fibers.size(), threads));
    for (unsigned i = 0; i < threads; i++) {
        Fiber& f = block.fibers[i];
        f.stack.resize(64 << 10);
        getcontext(&f.at);
        f.at.uc_stack.ss_sp = f.stack.data();
        f.at.uc_stack.ss_size = f.stack.size();
        f.at.uc_link = nullptr;
        makecontext(&f.at, fiber_main, 0);
    }
    for (unsigned i = 0; i < threads; i++) resume(i);
    for (;;) {
        bool warps = false, left = false;
        for (unsigned first = 0; first < threads; first += 32) {
            unsigned end = std::min(first + 32, threads), waiting = 0;
            for (unsigned i = first; i < end; i++) waiting += block.fibers[i].state == Fiber::in_warp;
            if (waiting == 0) continue;
            warps = true;
            unsigned met[32] = {}, present = 0;
            for (unsigned i = first; i < end; i++) {
                if (block.fibers[i].state != Fiber::in_warp) continue;
                met[i - first] = block.fibers[i].value;
                present |= 1u << (i - first);
            }
            for (unsigned i = first; i < end; i++) {
                if ((present >> (i - first) & 1u) == 0u) continue;
                memcpy(block.met, met, sizeof met);
                block.present = present;
                resume(i);
            }
        }
        if (warps) {
            std::this_thread::yield(); // it may wait for another block, or the host
            continue;
        }
        for (unsigned i = 0; i < threads; i++) left |= block.fibers[i].state == Fiber::in_block;
        if (!left) {
            block.body = nullptr; // its code may be unloaded
            return;
        }
        for (unsigned i = 0; i < threads; i++)
            if (block.fibers[i].state == Fiber::in_block) resume(i);
    }
}

struct Stream;
std::mutex streams_lock;
std::set<Stream*> streams;
// How an entry runs: its threads meet; its blocks need each other, so each is a host thread.
enum { meets = 1, apart = 2 };

struct Stream {
    std::mutex m;
    std::condition_variable changed;
    std::queue<std::function<void()>> work;
    bool busy = false, stop = false;
    std::thread thread;
    Stream() : thread([this] { loop(); }) {
        std::lock_guard<std::mutex> g(streams_lock);
        streams.insert(this);
    }
    void loop() {
        for (;;) {
            std::function<void()> next;
            {
                std::unique_lock<std::mutex> g(m);
                changed.wait(g, [this] { return stop || !work.empty(); });
                if (work.empty()) return;
                next = std::move(work.front());
                work.pop();
                busy = true;
            }
            changed.notify_all();
            if (!sticky) next();
            next = nullptr;
            {
                std::lock_guard<std::mutex> g(m);
                busy = false;
            }
            changed.notify_all();
        }
    }
    void add(std::function<void()> f) {
        {
            std::unique_lock<std::mutex> g(m);
            changed.wait(g, [this] { return work.size() < 1024; }); // the driver's queues are as long
            work.push(std::move(f));
        }
        changed.notify_all();
    }
    bool idle() {
        std::lock_guard<std::mutex> g(m);
        return work.empty() && !busy;
    }
    void wait() {
        std::unique_lock<std::mutex> g(m);
        changed.wait(g, [this] { return work.empty() && !busy; });
    }
    ~Stream() {
        {
            std::lock_guard<std::mutex> g(streams_lock);
            streams.erase(this);
        }
        {
            std::lock_guard<std::mutex> g(m);
            stop = true;
        }
        changed.notify_all();
        thread.join();
    }
};

// A device that broke stops: nobody hears of the error while a kernel still runs. What frees memory waits as well.
void wait_for_device() {
    std::lock_guard<std::mutex> g(streams_lock);
    for (Stream* s : streams) s->wait();
}
int broken() {
    if (sticky) wait_for_device();
    return sticky;
}

struct Event {
    std::mutex m;
    std::condition_variable changed;
    long recorded = 0, reached = 0;
    std::chrono::steady_clock::time_point when;
};

struct Module {
    void* library;
};
struct Program {
    std::string text, log, image;
};

std::string read_file(const std::string& path) {
    std::ifstream f(path, std::ios::binary);
    std::stringstream s;
    s << f.rdbuf();
    return s.str();
}

std::string fresh_name() {
    static std::atomic<long> n;
    return folder + "/k" + std::to_string(getpid()) + "_" + std::to_string(n++);
}

} // namespace

API void software_block() { pause_fiber(Fiber::in_block); }
API const unsigned* software_warp(unsigned value, unsigned* present) {
    block.fibers[block.running].value = value;
    pause_fiber(Fiber::in_warp);
    *present = block.present;
    return block.met;
}

// For the tests.
API void software_start(const char* host_h, const char* dir) { header = host_h, folder = dir; }
API void software_fail(const char* function, long nth, int status) {
    std::lock_guard<std::mutex> g(lock);
    faults[function] = {nth, status};
}
API void software_reset() {
    wait_for_device();
    std::lock_guard<std::mutex> g(lock);
    faults.clear();
    sticky = 0;
}
API long software_live(const char* kind) {
    std::lock_guard<std::mutex> g(lock);
    return live[kind];
}
API long software_contexts() { return (long)current.size(); }

// libcuda.
API int cuInit(unsigned) { BEGIN return 0; }
API int cuDriverGetVersion(int* v) { BEGIN *v = 12040; return 0; }
API int cuGetErrorName(int e, const char** s) {
    *s = e == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : e == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
    return 0;
}
API int cuGetErrorString(int, const char** s) { *s = "as the test asked for"; return 0; }
API int cuDeviceGetCount(int* n) { BEGIN *n = 2; return 0; }
API int cuDeviceGet(int* d, int i) { BEGIN *d = i; return 0; }
API int cuDeviceGetName(char* s, int n, int d) { BEGIN snprintf(s, n, "software %d", d); return 0; }
API int cuDeviceGetAttribute(int* v, int a, int) {
    BEGIN
    static const std::map<int, int> values = {{8, 49152}, {10, 32}, {19, 1}, {41, 1}, {75, 9}, {76, 0}, {122, 1}, {20, 0}};
    *v = values.count(a) != 0 ? values.at(a) : 0;
    return 0;
}
API int cuDeviceTotalMem_v2(size_t* n, int) { BEGIN *n = device_limit; return 0; }
API int cuDevicePrimaryCtxRetain(long* c, int d) {
    BEGIN
    if (int status = broken()) return status;
    *c = d + 1;
    count("context", 1);
    return 0;
}
API int cuDevicePrimaryCtxRelease_v2(int) { count("context", -1); return 0; }
API int cuCtxCreate_v2(long* c, unsigned, int d) {
    BEGIN
    static std::atomic<long> made{1000};
    *c = made++;
    current.push_back(*c);
    count("context", 1);
    return 0;
}
API int cuCtxDestroy_v2(long c) {
    if (!current.empty() && current.back() == c) current.pop_back();
    count("context", -1);
    return 0;
}
API int cuCtxGetCurrent(long* c) { *c = current.empty() ? 0 : current.back(); return 0; }
API int cuCtxPushCurrent_v2(long c) { BEGIN current.push_back(c); return 0; }
API int cuCtxPopCurrent_v2(long* c) {
    if (current.empty()) return 201;
    *c = current.back();
    current.pop_back();
    return 0;
}
API int cuMemGetInfo_v2(size_t* free, size_t* total) {
    BEGIN_IN_CONTEXT
    *total = device_limit, *free = device_limit - device_used;
    return 0;
}
API int cuMemAlloc_v2(void** p, size_t n) {
    BEGIN_IN_CONTEXT
    if (device_used + (long)n > device_limit) return 2;
    size_t* block = (size_t*)aligned_alloc(256, (n + 511) / 256 * 256);
    block[0] = n;
    device_used += (long)n;
    *p = (char*)block + 256;
    count("device memory", 1);
    return 0;
}
API int cuMemFree_v2(void* p) {
    wait_for_device();
    size_t* block = (size_t*)((char*)p - 256);
    device_used -= (long)block[0];
    free(block);
    count("device memory", -1);
    return broken();
}
API int cuMemHostAlloc(void** p, size_t n, unsigned) {
    BEGIN_IN_CONTEXT
    *p = aligned_alloc(4096, (n + 4095) / 4096 * 4096);
    count("host memory", 1);
    return 0;
}
API int cuMemFreeHost(void* p) { wait_for_device(); free(p); count("host memory", -1); return broken(); }
API int cuMemHostRegister_v2(void*, size_t, unsigned) { BEGIN_IN_CONTEXT count("pin", 1); return 0; }
API int cuMemHostUnregister(void*) { wait_for_device(); count("pin", -1); return broken(); }
API int cuMemHostGetDevicePointer_v2(void** d, void* h, unsigned) { BEGIN_IN_CONTEXT *d = h; return 0; }
API int cuStreamCreate(Stream** s, unsigned) { BEGIN_IN_CONTEXT *s = new Stream; count("stream", 1); return 0; }
API int cuStreamDestroy_v2(Stream* s) { delete s; count("stream", -1); return broken(); }
API int cuStreamQuery(Stream* s) {
    BEGIN_IN_CONTEXT
    if (!s->idle()) return 600;
    return broken();
}
API int cuStreamSynchronize(Stream* s) { BEGIN_IN_CONTEXT s->wait(); return broken(); }
API int cuStreamWriteValue64_v2(Stream* s, u64* p, u64 v, unsigned) {
    BEGIN_IN_CONTEXT
    s->add([=] { __atomic_store_n(p, v, __ATOMIC_SEQ_CST); });
    return 0;
}
API int cuLaunchHostFunc(Stream* s, void (*f)(void*), void* data) {
    BEGIN_IN_CONTEXT
    s->add([=] { f(data); });
    return 0;
}
API int cuMemcpyAsync(void* d, const void* h, size_t n, Stream* s) {
    BEGIN_IN_CONTEXT
    s->add([=] { memcpy(d, h, n); });
    return 0;
}
API int cuMemcpyHtoDAsync_v2(void* d, const void* h, size_t n, Stream* s) { return cuMemcpyAsync(d, h, n, s); }
API int cuMemcpyDtoHAsync_v2(void* h, const void* d, size_t n, Stream* s) { return cuMemcpyAsync(h, d, n, s); }
API int cuEventCreate(Event** e, unsigned) { BEGIN_IN_CONTEXT *e = new Event; count("event", 1); return 0; }
API int cuEventDestroy_v2(Event* e) { delete e; count("event", -1); return broken(); }
API int cuEventRecord(Event* e, Stream* s) {
    BEGIN_IN_CONTEXT
    long n;
    {
        std::lock_guard<std::mutex> g(e->m);
        n = ++e->recorded;
    }
    s->add([=] {
        std::lock_guard<std::mutex> g(e->m);
        e->reached = n;
        e->when = std::chrono::steady_clock::now();
        e->changed.notify_all();
    });
    return 0;
}
API int cuEventSynchronize(Event* e) {
    BEGIN_IN_CONTEXT
    std::unique_lock<std::mutex> g(e->m);
    while (e->reached < e->recorded && !sticky) e->changed.wait_for(g, std::chrono::milliseconds(1));
    return broken();
}
API int cuEventElapsedTime(float* ms, Event* a, Event* b) {
    BEGIN_IN_CONTEXT
    *ms = std::chrono::duration<float, std::milli>(b->when - a->when).count();
    return 0;
}
API int cuModuleLoadData(Module** m, const char* image) {
    BEGIN_IN_CONTEXT
    wait_for_device();
    size_t n;
    memcpy(&n, image, sizeof n);
    std::string path = fresh_name() + ".so";
    std::ofstream(path, std::ios::binary).write(image + sizeof n, (long)n);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    unlink(path.c_str());
    if (library == nullptr) {
        fprintf(stderr, "software: %s\n", dlerror());
        return 200;
    }
    *m = new Module{library};
    count("module", 1);
    return 0;
}
API int cuModuleUnload(Module* m) { wait_for_device(); dlclose(m->library); delete m; count("module", -1); return broken(); }
API int cuModuleGetFunction(void*** f, Module* m, const char* name) {
    BEGIN_IN_CONTEXT
    *f = (void**)dlsym(m->library, (std::string("software_call_") + name).c_str());
    return *f != nullptr ? 0 : 500;
}
API int cuFuncGetAttribute(int* v, int, void*) { BEGIN_IN_CONTEXT *v = 256; return 0; }
static std::function<void()> launch_body(void* f, unsigned gx, unsigned gy, unsigned threads, void** params) {
    int broken = planned("kernel");
    // An entry's own function copies the arguments and says how it runs.
    auto prepare = (std::function<void()>(*)(void**, int*))f;
    int how;
    std::function<void()> body = prepare(params, &how);
    return [=] {
        if (broken != 0) {
            sticky = broken;
            return;
        }
        if ((how & apart) != 0) {
            std::vector<std::thread> blocks;
            for (unsigned x = 0; x < gx; x++)
                blocks.emplace_back([=] {
                    gridDim = {gx, gy, 1}, blockDim = {threads, 1, 1}, blockIdx = {x, 0, 0};
                    run_block(threads, body);
                });
            for (std::thread& b : blocks) b.join();
            return;
        }
        gridDim = {gx, gy, 1}, blockDim = {threads, 1, 1};
        for (unsigned y = 0; y < gy; y++)
            for (unsigned x = 0; x < gx; x++) {
                blockIdx = {x, y, 0};
                if ((how & meets) != 0) {
                    run_block(threads, body);
                    continue;
                }
                for (unsigned i = 0; i < threads; i++) {
                    threadIdx = {i, 0, 0};
                    body();
                }
            }
    };
}
API int cuLaunchKernel(void* f, unsigned gx, unsigned gy, unsigned, unsigned threads, unsigned, unsigned, unsigned,
                       Stream* s, void** params, void**) {
    BEGIN_IN_CONTEXT
    s->add(launch_body(f, gx, gy, threads, params));
    return 0;
}

#include "graph.h" // CUDA graphs

// NVRTC.
API int nvrtcVersion(int* a, int* b) { *a = 12, *b = 4; return 0; }
API const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR_COMPILATION"; }
API int nvrtcGetNumSupportedArchs(int* n) { *n = 2; return 0; }
API int nvrtcGetSupportedArchs(int* a) { a[0] = 80, a[1] = 90; return 0; }
API int nvrtcCreateProgram(Program** p, const char* text, const char*, int, const char**, const char**) {
    BEGIN
    *p = new Program{text, "", ""};
    count("program", 1);
    return 0;
}
API int nvrtcDestroyProgram(Program** p) { delete *p; count("program", -1); return 0; }
API int nvrtcCompileProgram(Program* p, int, const char**) {
    BEGIN
    const std::string mark = "__launch_bounds__(256) ";
    size_t at = p->text.rfind(mark) + mark.size();
    std::string entry = p->text.substr(at, p->text.find('(', at) - at), base = fresh_name();
    size_t program = p->text.find("namespace metal_program {");
    int how = p->text.find("simd_", program) != std::string::npos || p->text.find("barrier", program) != std::string::npos ? meets : 0;
    if (entry.rfind("resident_", 0) == 0) how |= meets | apart;
    {
        std::ofstream f(base + ".cpp");
        f << "#include \"" << header << "\"\n#include <functional>\n#include <tuple>\n" << p->text << "\n#undef char\n"
          << "template <class... A, size_t... I> static std::function<void()> software_bind(void (*f)(A...), void** p, "
             "std::index_sequence<I...>) { return [=, t = std::tuple<A...>(*(A*)p[I]...)]() { f(std::get<I>(t)...); }; }\n"
          << "template <class... A> static std::function<void()> software_bind(void (*f)(A...), void** p) { return software_bind(f, p, "
             "std::index_sequence_for<A...>()); }\n"
          << "extern \"C\" std::function<void()> software_call_" << entry << "(void** p, int* how) { *how = "
          << how << "; return software_bind(&metal_program::entry::" << entry << ", p); }\n";
    }
    std::string command = "g++ -std=c++17 -O1 -w -shared -fPIC -ffp-contract=off -fsigned-char -o " + base + ".so " + base +
                          ".cpp >" + base + ".log 2>&1";
    int failed = system(command.c_str());
    if (failed == 0) {
        std::string so = read_file(base + ".so");
        size_t n = so.size();
        p->image = std::string((const char*)&n, sizeof n) + so;
    } else {
        // g++ says file:line:column: error; NVRTC file(line): error.
        std::stringstream lines(read_file(base + ".log"));
        for (std::string line; std::getline(lines, line);) {
            size_t a = line.find(':'), b = line.find(':', a + 1), c = line.find(':', b + 1);
            if (c != std::string::npos && line.find(" error", c) != std::string::npos)
                p->log += line.substr(0, a) + "(" + line.substr(a + 1, b - a - 1) + ")" + line.substr(c) + "\n";
        }
    }
    for (const char* suffix : {".cpp", ".so", ".log"}) unlink((base + suffix).c_str());
    return failed == 0 ? 0 : 6;
}
API int nvrtcGetProgramLogSize(Program* p, size_t* n) { *n = p->log.size() + 1; return 0; }
API int nvrtcGetProgramLog(Program* p, char* s) { memcpy(s, p->log.c_str(), p->log.size() + 1); return 0; }
API int nvrtcGetCUBINSize(Program* p, size_t* n) { *n = p->image.size(); return 0; }
API int nvrtcGetCUBIN(Program* p, char* s) { memcpy(s, p->image.data(), p->image.size()); return 0; }
API int nvrtcGetPTXSize(Program* p, size_t* n) { return nvrtcGetCUBINSize(p, n); }
API int nvrtcGetPTX(Program* p, char* s) { return nvrtcGetCUBIN(p, s); }

// The Metal objects and the work that is recorded into them.
#pragma once
#include "kernel.h"
#include "order.h"
#include <condition_variable>
#include <deque>
#include <mutex>

namespace emu {

// As in Metal: arguments of methods, passed by value.
struct MTLSize {
    uint64_t width, height, depth;
};
struct NSRange {
    uint64_t location, length;
};

struct Device : Object {
    uint64_t index;
    bool wide; // has double, 64-bit atomics, memory orders and forward progress, keeps subnormals
};

struct Buffer : Object {
    Device* device;
    uint8_t* bytes;
    size_t length;
    bool owned;   // the memory was allocated by newBufferWithLength
    bool tracked; // Metal orders its uses between encoders by itself
    ~Buffer();
};

struct Fence : Object {
    Device* device;
    Object* queue; // that used it first; fences do not reach over queues
    Clock clock;
};

struct Event : Object {
    Device* device;
    std::atomic<uint64_t> value;
    std::atomic<uint64_t> seen; // largest value that the host has read
    Clock clock;                // of all signals so far
};

struct Library : Object {
    Device* device;
    Module* module;
};
struct Function : Object {
    Device* device;
    Kernel* kernel;
};
struct Pipeline : Object {
    Device* device;
    Kernel* kernel;
};

// A dispatch, a copy or a fill.
struct Command {
    std::unique_ptr<Launch> launch; // else a copy or a fill
    Buffer *source = nullptr, *target = nullptr;
    uint64_t source_offset = 0, target_offset = 0, size = 0;
    uint8_t value = 0;
};

// What an encoder records, in order.
struct Step {
    enum Kind { kCommand, kBarrier, kUpdateFence, kWaitFence } kind;
    std::unique_ptr<Command> command;
    std::vector<Span> ranges; // of a barrier over resources
    bool all = false;         // a barrier over everything
    Fence* fence = nullptr;
};

// The work of one encoder.
struct Pass {
    std::shared_ptr<PassOrder> order = std::make_shared<PassOrder>();
    std::vector<Step> steps;
    Clock clock;          // at its end
    bool tracked = false; // uses a tracked buffer
    bool executed = false;
};

// What a command buffer records: passes, signals and waits.
struct Operation {
    enum Kind { kPass, kSignal, kWait } kind;
    std::shared_ptr<Pass> pass;
    Event* event = nullptr;
    uint64_t value = 0;
};

// As in Metal.
enum class Status : uint64_t { NotEnqueued, Enqueued, Committed, Scheduled, Completed, Error };

struct Queue;
struct CommandBuffer;

struct Block {
    void* isa;
    int32_t flags, reserved;
    void (*invoke)(Block*, Object*);
    void* descriptor;
};

struct CommandBufferState {
    Queue* queue;
    bool retains; // keeps the objects it uses alive
    std::vector<Operation> operations;
    size_t next = 0; // operation to handle
    std::vector<Object*> held;
    std::vector<Block*> handlers;
    Object* open_encoder = nullptr;
    std::string label;

    uint64_t committed_at = 0; // on the host's clock, see order.h
    Clock clock;               // of the waits so far
    Clock completion;          // what has happened when it has completed
    double ready_time = 0;     // not started before (option delay_us)
    double waited = 0;         // seconds spent in the current wait
    bool failed = false;
    int64_t error_code = 0;
    std::string error;

    std::mutex mutex;
    std::condition_variable done;
    std::atomic<Status> status{Status::NotEnqueued};
    bool finished = false;         // its handlers have run, too
    std::atomic<bool> seen{false}; // the host knows that it completed
    double start_time = 0, end_time = 0;
};

struct CommandBuffer : Object {
    std::unique_ptr<CommandBufferState> state;
    ~CommandBuffer();
};

// Shared by both kinds of encoder.
struct Encoder : Object {
    CommandBuffer* buffer;
    std::shared_ptr<Pass> pass;
    std::string* label;
    bool ended;
    // Of a compute encoder; null in a blit encoder.
    struct Bindings {
        Pipeline* pipeline = nullptr;
        Binding table[kMaxBindings];
        uint32_t threadgroup_lengths[kMaxBindings] = {};
    };
    std::unique_ptr<Bindings> bindings;
    ~Encoder();
};

struct QueueState;
struct Queue : Object {
    Device* device;
    std::shared_ptr<QueueState> state;
    ~Queue();
};

struct MetalClasses {
    Class *device, *buffer, *options, *library, *function, *pipeline, *event, *fence, *queue, *command_buffer,
        *compute_encoder, *blit_encoder;
};
extern MetalClasses metal;

// True if o is a live object of the class; else reports what was wanted.
bool expect_object(Object* o, Class* c, const char* what);
// True if o's device is d; else reports.
bool same_device(const Device* a, const Device* b, const char* what);
// Keeps o alive until the command buffer has completed, if that retains.
void hold(CommandBuffer* b, Object* o);

// Encoders.
Encoder* new_encoder(CommandBuffer* b, Class* c, bool serial);
bool check_open(Encoder* e, const char* what);
void define_encoder_methods(Class* c);
void add_step(Encoder* e, Step step);

// Execution.
// As in Metal.
enum ErrorCode : int64_t { kInternal = 1, kTimeout = 2, kPageFault = 3, kDeviceRemoved = 11 };
void fail_buffer(CommandBufferState& s, int64_t code, const std::string& message); // the first failure counts
// True if o (may be null) is alive; else reports and fails the command buffer.
bool check_in_use(CommandBufferState& s, Object* o);
void run_pass(CommandBufferState& s, Pass& pass);

// Queues.
std::shared_ptr<QueueState> start_queue();
void commit(CommandBuffer* b);
void host_sees_completion(CommandBuffer* b); // the host knows that it has completed
std::mutex& event_mutex();                   // guards the values of events
std::condition_variable& event_changed();

void define_device();
void define_buffer();
void define_library();
void define_events();
void define_compute_encoder();
void define_blit_encoder();
void define_command_buffer();

} // namespace emu

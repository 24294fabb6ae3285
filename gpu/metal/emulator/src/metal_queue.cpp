// Runs committed command buffers: one thread for each queue.
//
// Command buffers of a queue complete and signal in the order of their commits. With the
// option order above 1 their passes run in any order that fences and events allow, and
// dispatches that no barrier separates run in any order too.
#include "metal.h"
#include <chrono>
#include <cmath>
#include <csignal>
#include <thread>

namespace emu {

namespace {

constexpr double kEventPoll = 0.001; // seconds

// Adds what has happened after the first `count` operations.
void add_passes(const CommandBufferState& s, size_t count, Clock* clock) {
    clock->join(s.clock);
    for (size_t i = 0; i < count; i++) {
        auto& op = s.operations[i];
        if (op.kind != Operation::kPass)
            continue;
        clock->join(op.pass->clock);
        clock->add(op.pass->order, op.pass->order->steps);
    }
}

void signal_event(CommandBufferState& s, const Operation& op, size_t position) {
    {
        std::lock_guard<std::mutex> lock(order_mutex);
        add_passes(s, position, &op.event->clock);
    }
    uint64_t now;
    {
        std::lock_guard<std::mutex> lock(event_mutex());
        now = op.event->value;
        op.event->value = op.value;
    }
    event_changed().notify_all();
    if (op.value <= now)
        violation("event", "signal value %lu is not above the current %lu", (unsigned long)op.value,
                  (unsigned long)now);
}

bool updates(const Pass& pass, const Fence* f) {
    for (auto& step : pass.steps) {
        if (step.kind == Step::kUpdateFence && step.fence == f)
            return true;
    }
    return false;
}

// May the pass run before all of the earlier ones?
bool may_overtake(const Pass& pass, const std::vector<Pass*>& earlier) {
    for (Pass* e : earlier) {
        if (pass.tracked && e->tracked)
            return false;
        for (auto& step : pass.steps) {
            if (step.kind == Step::kWaitFence && updates(*e, step.fence))
                return false;
        }
    }
    return true;
}

} // namespace

double seconds_now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

struct QueueState {
    void loop();
    void add(CommandBuffer* b);
    void stop();

  private:
    struct Completion {
        double time;
        CommandBuffer* buffer;
    };
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<CommandBuffer*> committed_;
    std::deque<Completion> completions_;
    Clock completed_; // of all completed command buffers
    bool stopping_ = false;
    uint64_t round_ = 0; // choices made so far

    void advance(CommandBuffer* b);
    void run_some_pass(CommandBuffer* front);
    void wait_for_event(CommandBufferState& s, const Operation& op);
    void finish(CommandBuffer* b);
    void complete(CommandBuffer* b);
    void sleep_until(std::unique_lock<std::mutex>& lock, double time);
};

void QueueState::add(CommandBuffer* b) {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        committed_.push_back(b);
    }
    changed_.notify_one();
}

void QueueState::stop() {
    {
        std::lock_guard<std::mutex> lock(mutex_);
        stopping_ = true;
    }
    changed_.notify_one();
}

void QueueState::sleep_until(std::unique_lock<std::mutex>& lock, double time) {
    changed_.wait_for(lock, std::chrono::duration<double>(std::max(0.0, time - seconds_now())));
}

void QueueState::loop() {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
        double now = seconds_now();
        if (!completions_.empty() && completions_.front().time <= now) {
            CommandBuffer* b = completions_.front().buffer;
            completions_.pop_front();
            lock.unlock();
            complete(b);
            lock.lock();
        } else if (!committed_.empty() && committed_.front()->state->ready_time <= now) {
            CommandBuffer* b = committed_.front();
            lock.unlock();
            advance(b);
            lock.lock();
        } else if (!committed_.empty() || !completions_.empty()) {
            double next = INFINITY;
            if (!committed_.empty())
                next = committed_.front()->state->ready_time;
            if (!completions_.empty())
                next = std::min(next, completions_.front().time);
            sleep_until(lock, next);
        } else if (stopping_) {
            return;
        } else {
            changed_.wait(lock);
        }
    }
}

// Handles the next operation of the oldest command buffer.
void QueueState::advance(CommandBuffer* b) {
    auto& s = *b->state;
    if (s.status == Status::Committed) {
        s.status = Status::Scheduled;
        s.start_time = seconds_now();
    }
    if (option(Option::Lost))
        fail_buffer(s, kDeviceRemoved, "the device was lost (injected)");
    if (s.next == s.operations.size() || s.failed) {
        finish(b);
        return;
    }
    auto& op = s.operations[s.next];
    if (!check_in_use(s, op.event))
        return;
    // Before anybody can see the operation's effect: who sees the end sees it at its time or later.
    if (op.kind == Operation::kSignal)
        s.end_time = seconds_now();
    switch (op.kind) {
    case Operation::kPass:
        if (op.pass->executed)
            s.next++;
        else
            run_some_pass(b);
        break;
    case Operation::kSignal:
        signal_event(s, op, s.next);
        s.next++;
        break;
    case Operation::kWait:
        wait_for_event(s, op);
        break;
    }
}

// Runs the pass that is next, or with `order` above 1 one that may overtake it.
void QueueState::run_some_pass(CommandBuffer* front) {
    struct Candidate {
        CommandBuffer* buffer;
        Pass* pass;
    };
    std::vector<Candidate> candidates;
    std::vector<Pass*> waiting;
    int64_t seed = option(Option::Order);
    double now = seconds_now();
    {
        std::lock_guard<std::mutex> lock(mutex_);
        bool blocked = false;
        for (CommandBuffer* b : committed_) {
            auto& s = *b->state;
            if (blocked || s.ready_time > now || (seed < 2 && b != front))
                break;
            for (size_t i = s.next; i < s.operations.size() && !blocked; i++) {
                auto& op = s.operations[i];
                blocked = op.kind == Operation::kWait;
                if (op.kind != Operation::kPass || op.pass->executed)
                    continue;
                if (!s.failed && may_overtake(*op.pass, waiting))
                    candidates.push_back({b, op.pass.get()});
                waiting.push_back(op.pass.get());
            }
        }
    }
    uint32_t choice = seed < 2 ? 0 : scramble((uint64_t)seed, round_++, (uint32_t)candidates.size());
    run_pass(*candidates[choice].buffer->state, *candidates[choice].pass);
}

void QueueState::wait_for_event(CommandBufferState& s, const Operation& op) {
    double wait_began = seconds_now();
    std::unique_lock<std::mutex> lock(event_mutex());
    // In short slices: completions fall due meanwhile.
    event_changed().wait_for(lock, std::chrono::duration<double>(kEventPoll),
                             [&] { return op.event->value >= op.value; });
    bool reached = op.event->value >= op.value;
    lock.unlock();
    if (reached) {
        std::lock_guard<std::mutex> order(order_mutex);
        s.clock.join(op.event->clock);
        s.next++;
        s.waited = 0;
        return;
    }
    s.waited += seconds_now() - wait_began;
    if (s.waited > (double)option(Option::EventTimeoutMs) * 1e-3)
        fail_buffer(s, kTimeout,
                    format("an event did not reach the value %lu in time", (unsigned long)op.value));
}

void QueueState::finish(CommandBuffer* b) {
    auto& s = *b->state;
    double now = seconds_now();
    if (s.operations.empty() || s.operations.back().kind != Operation::kSignal || s.failed)
        s.end_time = now;
    std::lock_guard<std::mutex> lock(mutex_);
    committed_.pop_front();
    completions_.push_back({now + (double)option(Option::StatusLagUs) * 1e-6, b});
}

void QueueState::complete(CommandBuffer* b) {
    auto& s = *b->state;
    {
        // Command buffers of a queue complete in order: to see one is to see those before it.
        std::lock_guard<std::mutex> lock(order_mutex);
        add_passes(s, s.operations.size(), &completed_);
        s.completion = completed_;
    }
    host_completed(s.committed_at);
    if (!s.handlers.empty())
        host_sees_completion(b);
    s.status = s.failed ? Status::Error : Status::Completed;
    for (Block* block : s.handlers)
        block->invoke(block, b);
    std::vector<Object*> held;
    {
        std::lock_guard<std::mutex> lock(s.mutex);
        held.swap(s.held);
        s.finished = true;
        s.done.notify_all();
    }
    for (Object* o : held)
        release(o);
    release(b);
}

// The thread outlives the queue object until its work is done: the last reference to a
// queue may be dropped by the thread itself.
std::shared_ptr<QueueState> start_queue() {
    auto state = std::make_shared<QueueState>();
    // Signal handlers of the Go runtime must not run on fiber stacks.
    sigset_t blocked, old;
    sigfillset(&blocked);
    for (int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL})
        sigdelset(&blocked, fault);
    pthread_sigmask(SIG_SETMASK, &blocked, &old);
    std::thread([state] { state->loop(); }).detach();
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    return state;
}

Queue::~Queue() {
    state->stop();
}

void commit(CommandBuffer* b) {
    auto& s = *b->state;
    s.status = Status::Committed;
    s.committed_at = s.clock.host = host_commits();
    s.ready_time = seconds_now() + (double)option(Option::DelayUs) * 1e-6;
    if (countdown(Option::FailCommand))
        fail_buffer(s, kInternal, "the command buffer failed (injected)");
    retain(b);
    s.queue->state->add(b);
}

} // namespace emu

// Executes the commands of a pass.
#include "metal.h"
#include "private_copy.h"
#include <algorithm>
#include <cstring>

namespace emu {

namespace {

bool check_poison(CommandBufferState& s, const char* what, uint8_t* p, uint64_t size) {
    if (!is_poisoned((uintptr_t)p, (uintptr_t)p + size))
        return true;
    violation("poisoned", "%s of %lu bytes touches poisoned bytes", what, (unsigned long)size);
    fail_buffer(s, kPageFault, "poisoned memory");
    return false;
}

void run_copy(CommandBufferState& s, Command& c, Footprint* footprint) {
    if (!check_in_use(s, c.source) || !check_in_use(s, c.target))
        return;
    uint8_t* to = c.target->bytes + c.target_offset;
    if (!check_poison(s, c.source ? "copy" : "fill", to, c.size))
        return;
    footprint->writes.push_back({(uintptr_t)to, (uintptr_t)to + c.size});
    if (!c.source) {
        memset(to, c.value, c.size);
        return;
    }
    uint8_t* from = c.source->bytes + c.source_offset;
    if (!check_poison(s, "copy", from, c.size))
        return;
    footprint->reads.push_back({(uintptr_t)from, (uintptr_t)from + c.size});
    memcpy(to, from, c.size);
}

void run_dispatch(CommandBufferState& s, Launch& l, Footprint* footprint) {
    if (!check_in_use(s, l.pipeline))
        return;
    for (auto& b : l.bindings) {
        if (!check_in_use(s, b.buffer))
            return;
    }
    std::string error;
    std::unique_ptr<PrivateCopy> copy;
    if (option(Option::LineWriteback) && l.kernel->module->checked)
        copy.reset(new PrivateCopy(&l));
    if (!run_grid(l, footprint, &error))
        fail_buffer(s, kPageFault, error);
    if (s.failed || !copy)
        return;
    std::string finding = copy->write_back(l.kernel->name, footprint);
    if (!finding.empty())
        fail_buffer(s, kInternal, "host-access: " + finding);
}

// Uses of tracked buffers between encoders are ordered by Metal itself; they are not compared.
void drop_tracked(const Launch& l, Footprint* footprint) {
    for (auto& b : l.bindings) {
        auto buffer = static_cast<Buffer*>(b.buffer);
        if (!buffer || !buffer->tracked)
            continue;
        auto begin = (uintptr_t)buffer->bytes, end = begin + buffer->length;
        cut_spans(footprint, begin, end);
    }
}

void run_command(CommandBufferState& s, Pass& pass, uint32_t step, const Clock& clock) {
    Command& c = *pass.steps[step].command;
    ExecutedCommand e{pass.order, step, clock, {}, ""};
    if (c.launch) {
        run_dispatch(s, *c.launch, &e.footprint);
        e.name = format("dispatch of kernel %s (command %u of %s)", c.launch->kernel->name.c_str(), step + 1,
                        pass.order->label.c_str());
        if (!s.failed)
            drop_tracked(*c.launch, &e.footprint);
    } else {
        run_copy(s, c, &e.footprint);
        e.name =
            format("%s (command %u of %s)", c.source ? "copy" : "fill", step + 1, pass.order->label.c_str());
        if (pass.tracked)
            e.footprint = {};
    }
    if (s.failed || !option(Option::Sanitize))
        return;
    std::string conflict = check_order(std::move(e));
    if (!conflict.empty())
        fail_buffer(s, kInternal, "missing-barrier: " + conflict);
}

// Runs the commands [begin, end), which no barrier separates.
void run_unordered(CommandBufferState& s, Pass& pass, uint32_t begin, uint32_t end, const Clock& clock) {
    std::vector<uint32_t> steps;
    for (uint32_t i = begin; i < end; i++)
        steps.push_back(i);
    int64_t seed = option(Option::Order);
    if (!pass.order->serial && seed == 1)
        std::reverse(steps.begin(), steps.end());
    if (!pass.order->serial && seed > 1) {
        for (uint32_t n = end - begin; n > 1; n--)
            std::swap(steps[n - 1], steps[scramble((uint64_t)seed, begin + n, n)]);
    }
    for (uint32_t i : steps) {
        if (!s.failed)
            run_command(s, pass, i, clock);
    }
}

} // namespace

void fail_buffer(CommandBufferState& s, int64_t code, const std::string& message) {
    if (s.failed)
        return;
    s.failed = true;
    s.error_code = code;
    s.error = message;
}

bool check_in_use(CommandBufferState& s, Object* o) {
    if (!o || is_alive(o))
        return true;
    violation("use-after-free",
              "%s #%u was released before the GPU used it (command buffer with unretained references)",
              class_name(o), o->serial);
    fail_buffer(s, kPageFault, "use after free");
    return false;
}

void run_pass(CommandBufferState& s, Pass& pass) {
    pass.executed = true;
    pass.clock = s.clock;
    auto count = (uint32_t)pass.steps.size();
    for (uint32_t i = 0; i < count;) {
        Step& step = pass.steps[i];
        if (step.kind == Step::kCommand) {
            uint32_t end = i;
            while (end < count && pass.steps[end].kind == Step::kCommand)
                end++;
            run_unordered(s, pass, i, end, pass.clock);
            i = end;
            continue;
        }
        if (!check_in_use(s, step.fence))
            return;
        std::lock_guard<std::mutex> lock(order_mutex);
        if (step.kind == Step::kWaitFence)
            pass.clock.join(step.fence->clock);
        if (step.kind == Step::kUpdateFence) {
            step.fence->clock.join(pass.clock);
            step.fence->clock.add(pass.order, i);
        }
        i++;
    }
}

} // namespace emu

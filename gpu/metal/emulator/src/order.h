// What is ordered before what, and the search for commands that are not.
//
// Time is kept by vector clocks over passes (the work of one encoder): a Clock says how
// many steps of each pass have happened before. Fences and events carry clocks. What the
// host has seen complete is ordered before everything that it commits afterwards; that
// needs one number, a count of the host's commits and observations.
//
// A command conflicts with an earlier one if both touch a byte, one of them writes (or
// only one of them is atomic), and nothing orders them.
#pragma once
#include "kernel.h"
#include <map>
#include <memory>
#include <mutex>

namespace emu {

struct BarrierMark {
    uint32_t step;
    bool all;
    std::vector<Span> ranges;
};

struct PassOrder {
    bool serial = false; // each command is ordered before the next
    uint32_t steps = 0;
    std::vector<BarrierMark> barriers;
    std::string label;
    // (n, t): at host time t the first n steps were known to be done. Rising.
    std::vector<std::pair<uint32_t, uint64_t>> seen;
};

struct Clock {
    uint64_t host = 0; // all that the host had seen by then
    std::map<std::shared_ptr<PassOrder>, uint32_t> passes;
    void join(const Clock& other);
    void add(const std::shared_ptr<PassOrder>& pass, uint32_t steps);
};

// All below take order_mutex themselves.
extern std::mutex order_mutex; // guards every Clock and PassOrder::seen

uint64_t host_commits();              // host time of a commit, which is now in flight
void host_completed(uint64_t commit); // it is in flight no longer
void host_sees(const Clock& clock);   // the host has seen all of this happen
void host_signals(Clock* clock);      // what waits for this clock is ordered after what the host has seen

// An executed command, remembered until nothing that runs or will run can race with it.
struct ExecutedCommand {
    std::shared_ptr<PassOrder> pass;
    uint32_t step;
    Clock clock;
    Footprint footprint;
    std::string name;
};

// Takes the bytes [begin, end) out.
void cut_spans(Footprint* footprint, uintptr_t begin, uintptr_t end);

// Compares with all remembered commands, reports and returns the first conflict, and
// remembers the command; "" if there is none.
std::string check_order(ExecutedCommand command);

// The memory is gone: what touched it does not matter any more.
void forget_memory(uintptr_t begin, uintptr_t end);

} // namespace emu

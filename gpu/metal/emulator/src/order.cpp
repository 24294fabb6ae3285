#include "order.h"
#include <algorithm>
#include <deque>
#include <set>

namespace emu {

std::mutex order_mutex;

namespace {

// More unobserved commands than this are not compared: a race can be missed, not invented.
constexpr size_t kMostRemembered = 4096;

uint64_t host_time = 0;

std::multiset<uint64_t>& in_flight() {
    static auto& s = *new std::multiset<uint64_t>;
    return s;
}

std::deque<ExecutedCommand>& remembered() {
    static auto& d = *new std::deque<ExecutedCommand>;
    return d;
}

// When the host knew that the step was done; 0 if it does not.
uint64_t seen_at(const PassOrder& pass, uint32_t step) {
    for (auto& s : pass.seen) {
        if (s.first > step)
            return s.second;
    }
    return 0;
}

bool within(Span span, const BarrierMark& barrier) {
    if (barrier.all)
        return true;
    for (auto& r : barrier.ranges) {
        if (span.begin >= r.begin && span.end <= r.end)
            return true;
    }
    return false;
}

// Is `a`, executed earlier, ordered before `b` as far as the bytes of span go?
bool is_ordered(const ExecutedCommand& a, const ExecutedCommand& b, Span span) {
    if (a.pass == b.pass) {
        if (a.pass->serial)
            return true;
        uint32_t low = std::min(a.step, b.step), high = std::max(a.step, b.step);
        for (auto& barrier : a.pass->barriers) {
            if (barrier.step > low && barrier.step < high && within(span, barrier))
                return true;
        }
        return false;
    }
    uint64_t seen = seen_at(*a.pass, a.step);
    if (seen && seen <= b.clock.host)
        return true;
    auto known = b.clock.passes.find(a.pass);
    return known != b.clock.passes.end() && known->second > a.step;
}

// Calls f for the common parts of two sorted lists until it returns true.
template <class F> bool common(const std::vector<Span>& a, const std::vector<Span>& b, F f) {
    for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
        Span both{std::max(a[i].begin, b[k].begin), std::min(a[i].end, b[k].end)};
        if (both.begin < both.end && f(both))
            return true;
        if (a[i].end < b[k].end)
            i++;
        else
            k++;
    }
    return false;
}

// The first common bytes of conflicting kinds that are not ordered.
bool find_conflict(const ExecutedCommand& a, const ExecutedCommand& b, Span* where) {
    auto unordered = [&](Span span) {
        *where = span;
        return !is_ordered(a, b, span);
    };
    const Footprint &x = a.footprint, &y = b.footprint;
    return common(x.writes, y.writes, unordered) || common(x.writes, y.reads, unordered) ||
           common(x.reads, y.writes, unordered) || common(x.atomics, y.writes, unordered) ||
           common(x.writes, y.atomics, unordered) || common(x.atomics, y.reads, unordered) ||
           common(x.reads, y.atomics, unordered);
}

// Drops commands that everything in flight or to come is ordered after.
void forget_seen() {
    uint64_t oldest = in_flight().empty() ? host_time : *in_flight().begin();
    auto& list = remembered();
    auto is_old = [&](const ExecutedCommand& c) {
        uint64_t seen = seen_at(*c.pass, c.step);
        return seen && seen <= oldest;
    };
    list.erase(std::remove_if(list.begin(), list.end(), is_old), list.end());
    while (list.size() > kMostRemembered)
        list.pop_front();
}

void cut(std::vector<Span>* spans, uintptr_t begin, uintptr_t end) {
    std::vector<Span> kept;
    for (auto& s : *spans) {
        if (s.begin < begin)
            kept.push_back({s.begin, std::min(s.end, begin)});
        if (s.end > end)
            kept.push_back({std::max(s.begin, end), s.end});
    }
    spans->swap(kept);
}

} // namespace

void Clock::join(const Clock& other) {
    host = std::max(host, other.host);
    for (auto& p : other.passes)
        add(p.first, p.second);
    for (auto it = passes.begin(); it != passes.end();) {
        uint64_t seen = it->second ? seen_at(*it->first, it->second - 1) : host;
        it = seen && seen <= host ? passes.erase(it) : std::next(it);
    }
}

void Clock::add(const std::shared_ptr<PassOrder>& pass, uint32_t steps) {
    uint32_t& known = passes[pass];
    known = std::max(known, steps);
}

uint64_t host_commits() {
    std::lock_guard<std::mutex> lock(order_mutex);
    in_flight().insert(++host_time);
    return host_time;
}

void host_completed(uint64_t commit) {
    std::lock_guard<std::mutex> lock(order_mutex);
    auto it = in_flight().find(commit);
    if (it != in_flight().end())
        in_flight().erase(it);
}

void host_sees(const Clock& clock) {
    std::lock_guard<std::mutex> lock(order_mutex);
    ++host_time;
    for (auto& p : clock.passes) {
        auto& seen = p.first->seen;
        if (p.second && (seen.empty() || seen.back().first < p.second))
            seen.push_back({p.second, host_time});
    }
}

void host_signals(Clock* clock) {
    std::lock_guard<std::mutex> lock(order_mutex);
    clock->host = host_time;
}

std::string check_order(ExecutedCommand command) {
    std::string found;
    {
        std::lock_guard<std::mutex> lock(order_mutex);
        forget_seen();
        for (auto& earlier : remembered()) {
            Span where;
            if (!find_conflict(earlier, command, &where))
                continue;
            found =
                format("%s and %s both touch the bytes [%#lx, %#lx), one of them writes, and nothing orders "
                       "them: a memory barrier (same encoder), a fence (two encoders) or an event (two "
                       "command buffers) is missing",
                       earlier.name.c_str(), command.name.c_str(), (unsigned long)where.begin,
                       (unsigned long)where.end);
            break;
        }
        remembered().push_back(std::move(command));
    }
    if (!found.empty())
        violation("missing-barrier", "%s", found.c_str());
    return found;
}

void cut_spans(Footprint* footprint, uintptr_t begin, uintptr_t end) {
    cut(&footprint->reads, begin, end);
    cut(&footprint->writes, begin, end);
    cut(&footprint->atomics, begin, end);
}

void forget_memory(uintptr_t begin, uintptr_t end) {
    std::lock_guard<std::mutex> lock(order_mutex);
    for (auto& c : remembered())
        cut_spans(&c.footprint, begin, end);
}

} // namespace emu

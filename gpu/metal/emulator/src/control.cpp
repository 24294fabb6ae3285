#include "control.h"
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace emu {

namespace {

struct OptionRow {
    const char* name;
    std::atomic<int64_t> value;
};

// One row for each Option, in its order, with the default.
OptionRow option_rows[(int)Option::Count] = {
    {"sanitize", {1}},
    {"opt", {1}},
    {"order", {0}},
    {"resident", {0}},
    {"threads", {2}},
    {"simdstrict", {1}},
    {"nilstrict", {0}},
    {"page", {16384}},
    {"profile", {0}},
    {"devices", {1}},
    {"delay_us", {0}},
    {"status_lag_us", {0}},
    {"fill_kib", {0}},
    {"line_writeback", {0}},
    {"hold_us", {0}},
    {"fail_command", {0}},
    {"fail_library", {0}},
    {"fail_pipeline", {0}},
    {"fail_alloc", {0}},
    {"fail_pipeline_percent", {0}},
    {"kernel_timeout_ms", {60000}},
    {"event_timeout_ms", {20000}},
    {"lost", {0}},
};

enum Mode { kAbort = 0, kRecord = 1 };
std::atomic<int> mode{kAbort};

constexpr size_t kMaxRecorded = 1000;

std::mutex& recorded_mutex() {
    static auto& m = *new std::mutex;
    return m;
}

std::vector<std::string>& recorded() {
    static auto& v = *new std::vector<std::string>;
    return v;
}

std::string vformat(const char* fmt, va_list args) {
    char text[2048];
    vsnprintf(text, sizeof text, fmt, args);
    return text;
}

bool set_option(const char* name, const char* value) {
    for (auto& row : option_rows) {
        if (!strcmp(row.name, name)) {
            row.value = atoll(value);
            return true;
        }
    }
    return false;
}

// METALEMU_OPTIONS="name=value,name=value" and METALEMU_DEVICES=n, read when the library is loaded.
__attribute__((constructor)) void read_environment() {
    if (const char* n = getenv("METALEMU_DEVICES"))
        set_option("devices", n);
    const char* list = getenv("METALEMU_OPTIONS");
    if (!list)
        return;
    std::string text = list;
    size_t begin = 0;
    while (begin < text.size()) {
        size_t end = text.find(',', begin);
        if (end == std::string::npos)
            end = text.size();
        std::string item = text.substr(begin, end - begin);
        size_t equal = item.find('=');
        bool known = equal != std::string::npos &&
                     set_option(item.substr(0, equal).c_str(), item.substr(equal + 1).c_str());
        if (!item.empty() && !known)
            violation("option", "METALEMU_OPTIONS: `%s` is no option", item.c_str());
        begin = end + 1;
    }
}

} // namespace

int64_t option(Option o) {
    return option_rows[(int)o].value.load(std::memory_order_relaxed);
}

bool countdown(Option o) {
    auto& value = option_rows[(int)o].value;
    int64_t now = value.load();
    while (now > 0) {
        if (value.compare_exchange_weak(now, now - 1))
            return now == 1;
    }
    return false;
}

std::string format(const char* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    std::string s = vformat(fmt, args);
    va_end(args);
    return s;
}

std::string seed_note() {
    int64_t seed = option(Option::Order);
    return seed > 1 ? format(" [order=%ld]", (long)seed) : "";
}

void violation(const char* kind, const char* fmt, ...) {
    va_list args;
    va_start(args, fmt);
    std::string text = std::string(kind) + ": " + vformat(fmt, args) + seed_note();
    va_end(args);
    if (mode == kAbort) {
        fprintf(stderr, "metalemu: %s\n", text.c_str());
        abort();
    }
    std::lock_guard<std::mutex> lock(recorded_mutex());
    if (recorded().size() < kMaxRecorded)
        recorded().push_back(text);
}

EMU_API void metalemu_set_mode(int m) {
    mode = m;
}

// Returns 1, or 0 if there is no such option.
EMU_API int metalemu_set_option(const char* name, const char* value) {
    return set_option(name, value);
}

// Moves the recorded violations that fit, one a line, into the buffer and
// returns their length; 0 when none is left. Call again until it is 0.
EMU_API int64_t metalemu_take_violations(char* buffer, int64_t capacity) {
    std::lock_guard<std::mutex> lock(recorded_mutex());
    auto& list = recorded();
    int64_t used = 0;
    size_t taken = 0;
    while (taken < list.size() && used + (int64_t)list[taken].size() + 1 <= capacity) {
        memcpy(buffer + used, list[taken].data(), list[taken].size());
        used += (int64_t)list[taken].size();
        buffer[used++] = '\n';
        taken++;
    }
    list.erase(list.begin(), list.begin() + (long)taken);
    return used;
}

} // namespace emu

#include "worker.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace emu {

// Asks addr2line, which comes with the compiler. Only findings pay for it.
std::string source_line(const Module* m, void* pc) {
    Dl_info info;
    if (!dladdr(pc, &info) || !info.dli_fname)
        return "an unknown place";
    // One less: pc is the return address.
    auto offset = (unsigned long)((char*)pc - (char*)info.dli_fbase - 1);
    std::string command = format("addr2line -i -s -e '%s' %#lx 2>/dev/null", info.dli_fname, offset);
    std::string place = "an unknown line (addr2line is missing)";
    FILE* p = popen(command.c_str(), "r");
    if (!p)
        return place;
    // Innermost first. Helpers of the standard library (include/metal_*) are not what the
    // reader looks for. Anything else is the program, under the name that #line gives or,
    // as some assemblers have it, that of the temporary file.
    char text[512];
    while (fgets(text, sizeof text, p)) {
        const char* colon = strrchr(text, ':');
        int line = colon ? atoi(colon + 1) : 0;
        if (line <= 0 || (size_t)line > m->lines.size() || !strncmp(text, "metal", 5))
            continue;
        std::string code = m->lines[(size_t)line - 1];
        code.erase(0, code.find_first_not_of(" \t"));
        place = "program_source:" + std::to_string(line) + " `" + code + "`";
        break;
    }
    pclose(p);
    return place;
}

} // namespace emu

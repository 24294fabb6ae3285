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
    // Innermost first; helpers of the standard library are not what the reader looks for.
    char text[512];
    while (fgets(text, sizeof text, p)) {
        text[strcspn(text, " \n")] = 0;
        if (strncmp(text, "program_source:", 15))
            continue;
        size_t line = (size_t)atoi(text + 15);
        place = text;
        if (line > 0 && line <= m->lines.size()) {
            std::string code = m->lines[line - 1];
            code.erase(0, code.find_first_not_of(" \t"));
            place += " `" + code + "`";
        }
        break;
    }
    pclose(p);
    return place;
}

} // namespace emu

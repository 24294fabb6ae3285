// Runs the C++ compiler over rewritten MSL and loads the result. Compiled kernels are
// kept in a cache folder, named by the hash of everything that decides their code.
#include "kernel.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <mutex>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>

extern char** environ;

namespace emu {

namespace {

std::string hash128(const std::string& s) {
    auto prime = ((unsigned __int128)0x0000000001000000ull << 64) | 0x13Bull;
    auto h = ((unsigned __int128)0x6c62272e07bb0142ull << 64) | 0x62b821756295c58dull;
    for (unsigned char c : s) {
        h ^= c;
        h *= prime;
    }
    return format("%016llx%016llx", (unsigned long long)(h >> 64), (unsigned long long)h);
}

std::string read_file(const std::string& path) {
    std::string text;
    FILE* f = fopen(path.c_str(), "r");
    if (!f)
        return text;
    char block[4096];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) > 0)
        text.append(block, n);
    fclose(f);
    return text;
}

bool write_file(const std::string& path, const std::string& text) {
    FILE* f = fopen(path.c_str(), "w");
    if (!f)
        return false;
    bool ok = fwrite(text.data(), 1, text.size(), f) == text.size();
    return fclose(f) == 0 && ok;
}

// The folder `include` lies beside the library.
std::string include_folder() {
    Dl_info info;
    dladdr((void*)compile_msl, &info);
    std::string path = info.dli_fname;
    return path.substr(0, path.rfind('/')) + "/include";
}

// All headers, so that a change of one misses the cache.
const std::string& header_text() {
    static const auto& text = *new std::string([] {
        std::string all;
        std::string folder = include_folder();
        DIR* d = opendir(folder.c_str());
        if (!d)
            return all;
        std::map<std::string, std::string> files;
        while (dirent* e = readdir(d)) {
            if (e->d_name[0] != '.')
                files[e->d_name] = read_file(folder + "/" + e->d_name);
        }
        closedir(d);
        for (auto& f : files)
            all += f.first + "\n" + f.second;
        return all;
    }());
    return text;
}

bool make_folders(const std::string& path) {
    for (size_t i = 1; i <= path.size(); i++) {
        if (i == path.size() || path[i] == '/')
            mkdir(path.substr(0, i).c_str(), 0700);
    }
    return access(path.c_str(), W_OK) == 0;
}

// Removes kernels that no process has used for a while.
void prune(const std::string& folder) {
    constexpr time_t kKept = 14 * 24 * 3600;
    DIR* d = opendir(folder.c_str());
    if (!d)
        return;
    time_t now = time(nullptr);
    while (dirent* e = readdir(d)) {
        std::string path = folder + "/" + e->d_name;
        struct stat s;
        if (stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode) && s.st_mtime < now - kKept)
            unlink(path.c_str());
    }
    closedir(d);
}

// METALEMU_CACHE, else the user's cache folder, else a folder of this process alone.
const std::string& cache_folder() {
    static const auto& folder = *new std::string([] {
        auto variable = [](const char* name) { return std::string(getenv(name) ? getenv(name) : ""); };
        std::string base = variable("METALEMU_CACHE");
        if (base.empty() && !variable("XDG_CACHE_HOME").empty())
            base = variable("XDG_CACHE_HOME") + "/broadhead/emulator/kernels";
        if (base.empty() && !variable("HOME").empty())
            base = variable("HOME") + "/.cache/broadhead/emulator/kernels";
        if (!base.empty() && make_folders(base)) {
            prune(base);
            return base;
        }
        char temporary[] = "/tmp/metalemu-XXXXXX";
        return std::string(mkdtemp(temporary) ? temporary : "");
    }());
    return folder;
}

// Runs a program with both outputs in the file; its exit status, 127 if it cannot start.
int run_program(const std::vector<std::string>& arguments, const std::string& output) {
    std::vector<char*> argv;
    for (auto& a : arguments)
        argv.push_back((char*)a.c_str());
    argv.push_back(nullptr);
    // Libraries preloaded into this process are no business of the compiler.
    std::vector<char*> env;
    for (char** e = environ; *e; e++) {
        if (strncmp(*e, "LD_PRELOAD=", 11))
            env.push_back(*e);
    }
    env.push_back((char*)"LC_ALL=C");
    env.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    pid_t child;
    int failed = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), env.data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return 127;
    int status;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return 128;
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

std::vector<std::string> words(const std::string& text) {
    std::vector<std::string> list;
    size_t begin = 0;
    while ((begin = text.find_first_not_of(' ', begin)) != std::string::npos) {
        size_t end = std::min(text.find(' ', begin), text.size());
        list.push_back(text.substr(begin, end - begin));
        begin = end;
    }
    return list;
}

struct Flags {
    std::vector<std::string> compile, link;
};

Flags flags_for(bool fast_math, bool wide, bool checked) {
    const char* cxx = getenv("METALEMU_CXX");
    if (!cxx)
        cxx = getenv("CXX");
    const std::vector<std::string> command = words(cxx && *cxx ? cxx : "g++");
    Flags f{command, command};
    // A division that would trap calls out instead: see tsan.cpp.
    f.compile.insert(f.compile.end(),
                     {"-std=c++17", "-g1", "-fPIC", "-fno-exceptions", "-fno-rtti", "-fwrapv",
                      "-fno-strict-aliasing", "-nostdinc++", "-w", "-fvisibility=hidden", "-fno-math-errno",
                      "-fsigned-char", "-ffp-contract=off",
                      "-fsanitize=integer-divide-by-zero,signed-integer-overflow"});
    f.compile.push_back("-O" + std::to_string(option(Option::Optimise)));
    f.compile.push_back("-I" + include_folder());
    if (wide)
        f.compile.push_back("-D__MTL_WIDE");
    if (fast_math)
        f.compile.push_back("-ffast-math");
    // -nostdlib: crtfastmath.o of -ffast-math would change the whole process.
    f.link.insert(f.link.end(), {"-shared", "-nostdlib"});
    if (checked) {
        // The call-outs of the instrumentation are implemented in tsan.cpp; linking with
        // this flag would bring the real runtime.
        f.compile.push_back("-fsanitize=thread,alignment");
        f.compile.push_back("-fsanitize-coverage=trace-pc"); // a call in each block: see check_time
        f.compile.push_back("-ftrivial-auto-var-init=pattern");
        for (auto name : {"memcpy", "memmove", "memset"})
            f.link.push_back(std::string("-Wl,--wrap=") + name);
    }
    return f;
}

// Compiles to `library`; false with the compiler's messages in *log.
bool build(const std::string& text, const Flags& flags, const std::string& library, std::string* log) {
    static std::atomic<int> counter{0};
    std::string base = library + "." + std::to_string(getpid()) + "." + std::to_string(counter++);
    std::string source = base + ".cpp", object = base + ".o", result = base + ".so", output = base + ".log";
    auto compile = flags.compile;
    compile.insert(compile.end(), {"-c", source, "-o", object});
    auto link = flags.link;
    link.insert(link.end(), {object, "-o", result, "-lm", "-lgcc"});
    int status = write_file(source, text) ? run_program(compile, output) : 1;
    if (status == 0)
        status = run_program(link, output);
    if (status != 0)
        *log = read_file(output);
    if (status == 127)
        *log = "no C++ compiler: cannot run " + flags.compile[0] + " (apt-get install g++, or set CXX)";
    else if (status != 0 && log->empty())
        *log = "the C++ compiler failed with status " + std::to_string(status) + " in " + cache_folder();
    if (status == 0)
        rename(result.c_str(), library.c_str());
    for (auto& f : {source, object, result, output})
        unlink(f.c_str());
    return status == 0;
}

void find_mapped_memory(void* handle, Module* m) {
    struct link_map* map;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        return;
    struct Search {
        uintptr_t base;
        Module* module;
    } search{map->l_addr, m};
    auto visit = [](dl_phdr_info* info, size_t, void* data) {
        auto s = (Search*)data;
        if (info->dlpi_addr != s->base)
            return 0;
        for (int i = 0; i < info->dlpi_phnum; i++) {
            auto& header = info->dlpi_phdr[i];
            uintptr_t begin = s->base + header.p_vaddr;
            if (header.p_type == PT_LOAD)
                s->module->constants.push_back({begin, begin + header.p_memsz});
        }
        return 1;
    };
    dl_iterate_phdr(visit, &search);
}

std::vector<std::string> split_lines(const std::string& text) {
    std::vector<std::string> lines;
    size_t begin = 0;
    while (begin <= text.size()) {
        size_t end = text.find('\n', begin);
        if (end == std::string::npos)
            end = text.size();
        lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return lines;
}

Module* load(const std::string& library, const std::string& source, bool wide, bool checked,
             std::string* log) {
    void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        *log = dlerror();
        return nullptr;
    }
    auto m = new Module;
    m->path = library;
    m->checked = checked;
    m->wide = wide;
    m->lines = split_lines(source);
    auto names = (const char* const*)dlsym(handle, "__mtl_kernels");
    for (; names && *names; names++) {
        std::string name = *names;
        Kernel& k = m->kernels[name];
        k.name = name;
        k.module = m;
        k.run = (void (*)(const ThreadContext*))dlsym(handle, ("__mtl_run_" + name).c_str());
        auto row = (const Parameter*)dlsym(handle, ("__mtl_table_" + name).c_str());
        for (; row->kind != Parameter::kEnd; row++)
            k.parameters.push_back(*row);
    }
    find_mapped_memory(handle, m);
    return m;
}

std::mutex modules_mutex;

std::unordered_map<std::string, Module*>& modules() {
    static auto& m = *new std::unordered_map<std::string, Module*>;
    return m;
}

} // namespace

Module* compile_msl(const std::string& source, bool fast_math, bool wide, std::string* log) {
    std::string text = rewrite_msl(source, wide, log);
    if (!log->empty())
        return nullptr;
    bool checked = option(Option::Sanitize) != 0;
    Flags flags = flags_for(fast_math, wide, checked);
    std::string key = text + header_text();
    for (auto& f : flags.compile)
        key += "\n" + f;
    for (auto& f : flags.link)
        key += "\n" + f;
    std::string name = hash128(key);
    {
        std::lock_guard<std::mutex> lock(modules_mutex);
        auto known = modules().find(name);
        if (known != modules().end())
            return known->second;
    }
    std::string library = cache_folder() + "/" + name + ".so";
    Module* m = nullptr;
    // Used now: see prune.
    if (utimensat(AT_FDCWD, library.c_str(), nullptr, 0) == 0)
        m = load(library, source, wide, checked, log);
    if (!m) {
        // Not there, or damaged: (re)build it.
        log->clear();
        if (!build(text, flags, library, log))
            return nullptr;
        m = load(library, source, wide, checked, log);
    }
    if (!m)
        return nullptr;
    std::lock_guard<std::mutex> lock(modules_mutex);
    return modules().emplace(name, m).first->second;
}

} // namespace emu

// The GPU's cache, as weak as it may be (option line_writeback): a dispatch works on a
// private copy of its buffers, and at its end the lines of 128 bytes that it wrote go back
// whole. A host that reads meanwhile sees old values; what it writes into such a line, or
// into bytes that the kernel reads, is reported and lost.
#pragma once
#include "kernel.h"
#include <mutex>

namespace emu {

class PrivateCopy {
  public:
    // Points the launch's bindings to copies. One such dispatch runs at a time: copies of
    // two would not see each other's atomics.
    explicit PrivateCopy(Launch* launch);
    ~PrivateCopy();
    // Writes back and moves the footprint to the buffers; "", or what the host did (reported).
    std::string write_back(const std::string& kernel, Footprint* footprint);

  private:
    struct Region {
        uintptr_t begin, end; // the buffers' memory, in whole lines
        uint8_t* pages;       // mapped for the copy
        size_t mapped;
        uint8_t* copy; // of the byte at begin
        std::vector<uint8_t> before;
        ptrdiff_t shift() const { return (ptrdiff_t)(begin - (uintptr_t)copy); }
    };
    std::unique_lock<std::mutex> lock_;
    std::vector<Region> regions_;

    void make_region(uintptr_t begin, uintptr_t end);
    void write_back_region(const Region& r, const Footprint& f, std::string* finding);
};

} // namespace emu

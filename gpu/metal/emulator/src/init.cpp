// Builds the classes when the library is loaded.
#include "metal.h"

namespace emu {

void define_foundation();

__attribute__((constructor)) static void define_classes() {
    define_foundation();
    define_buffer();
    define_events();
    define_compute_encoder();
    define_blit_encoder();
    define_command_buffer();
    define_device();
    define_library();
    end_of_setup();
}

} // namespace emu

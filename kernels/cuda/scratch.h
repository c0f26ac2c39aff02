#pragma once

#include <cstddef>

namespace hearth::kernels::cuda {

// Device memory for what an op hands from one of its launches to the next: at least `bytes`, 256-byte aligned, contents
// undefined. One block for each stream, valid until the stream's next call, so an op asks once; ops of a stream follow
// each other and therefore share it. It grows rarely and never shrinks; out of memory ends the process.
void* Scratch(void* stream, size_t bytes);
// What all blocks have grown to.
size_t ScratchBytes();

}  // namespace hearth::kernels::cuda

#pragma once

#include <cstddef>

namespace hearth::kernels::cuda {

// Device memory for what an op hands from one of its launches to the next: at least `bytes`, 256-byte aligned, contents
// undefined. One block for the whole process, valid until the next call, so an op asks once; ops follow each other on
// one stream and therefore share it. It grows rarely and never shrinks; out of memory ends the process.
void* Scratch(size_t bytes);
// The size it has grown to.
size_t ScratchBytes();

}  // namespace hearth::kernels::cuda

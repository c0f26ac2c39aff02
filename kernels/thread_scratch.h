#pragma once

#include "kernels/real.h"

namespace hearth::kernels {

// Memory that a thread keeps between ops, so that an op of a decode step allocates nothing. Each use inside one call
// chain has a slot of its own; the pointer is valid until the same thread asks for the slot again.
enum class ScratchSlot { kRotated, kExpert, kStripSums, kStripSums2, kPanel, kCount };

// At least `count` floats, 64-byte aligned, not initialised.
float* ThreadScratch(ScratchSlot slot, Dim count);

}  // namespace hearth::kernels

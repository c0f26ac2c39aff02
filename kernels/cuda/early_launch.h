#pragma once

namespace hearth::kernels::cuda {

// Whether LaunchEarly asks for it: on a device that can, compute capability 9.0 and later.
bool EarlyLaunch();

}  // namespace hearth::kernels::cuda

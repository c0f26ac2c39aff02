#pragma once

namespace hearth::kernels::cuda {

// Whether LaunchEarly asks for it: HEARTH_CUDA_EARLY_LAUNCH=1 in the environment, and a device that can.
bool EarlyLaunch();

}  // namespace hearth::kernels::cuda

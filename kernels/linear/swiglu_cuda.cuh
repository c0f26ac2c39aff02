#pragma once

namespace hearth::kernels::cuda {

// silu(min(gate, limit)) * clamp(up, -limit, limit); NaN passes through. exp only ever sees -|x|.
__device__ inline float DeviceSwiglu(float gate, float up, float limit) {
  const float g = gate > limit ? limit : gate;
  const float high = up > limit ? limit : up;
  const float u = high < -limit ? -limit : high;
  const float e = expf(-fabsf(g));
  return g * ((g < 0.0f ? e : 1.0f) / (1.0f + e)) * u;
}

}  // namespace hearth::kernels::cuda

#pragma once

#include <cstdint>

namespace hearth::kernels::cuda {

// Four floats at a time from rows of any length. `aligned` says that every row begins at a multiple of 16 bytes and has
// a multiple of 4 elements; `left` is how many elements remain at p. What lies past the end reads as 0 and is not
// written.
__device__ inline float4 Load4(const float* p, int64_t left, bool aligned) {
  float4 v = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
  if (aligned) {
    if (left > 0) v = *reinterpret_cast<const float4*>(p);
    return v;
  }
  if (left > 0) v.x = p[0];
  if (left > 1) v.y = p[1];
  if (left > 2) v.z = p[2];
  if (left > 3) v.w = p[3];
  return v;
}

__device__ inline void Store4(float* p, int64_t left, bool aligned, float4 v) {
  if (aligned) {
    if (left > 0) *reinterpret_cast<float4*>(p) = v;
    return;
  }
  if (left > 0) p[0] = v.x;
  if (left > 1) p[1] = v.y;
  if (left > 2) p[2] = v.z;
  if (left > 3) p[3] = v.w;
}

// sum + a . b, ascending
__device__ inline float Dot4(float4 a, float4 b, float sum) {
  return fmaf(a.w, b.w, fmaf(a.z, b.z, fmaf(a.y, b.y, fmaf(a.x, b.x, sum))));
}
// sum + a b
__device__ inline float4 Fma4(float a, float4 b, float4 sum) {
  return make_float4(fmaf(a, b.x, sum.x), fmaf(a, b.y, sum.y), fmaf(a, b.z, sum.z), fmaf(a, b.w, sum.w));
}
__device__ inline float4 Scale4(float a, float4 b) { return make_float4(a * b.x, a * b.y, a * b.z, a * b.w); }
__device__ inline float4 Times4(float4 a, float4 b) { return make_float4(a.x * b.x, a.y * b.y, a.z * b.z, a.w * b.w); }
__device__ inline float4 Add4(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }

inline bool IsAligned16(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

}  // namespace hearth::kernels::cuda

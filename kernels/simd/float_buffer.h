#pragma once

#include "kernels/real.h"

namespace hearth::kernels {

// Scratch of `count` floats, 64-byte aligned, not initialised. Compiled for any processor: files for one instruction
// set use it in place of standard containers, whose code the linker would share with everybody.
class FloatBuffer {
 public:
  explicit FloatBuffer(Dim count);
  ~FloatBuffer();
  FloatBuffer(const FloatBuffer&) = delete;
  FloatBuffer& operator=(const FloatBuffer&) = delete;

  float* data() { return data_; }

 private:
  float* data_;
};

}  // namespace hearth::kernels

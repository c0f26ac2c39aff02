#pragma once

#include "common/base/float16.h"
#include "kernels/mla/mla.h"

namespace hearth::kernels {

// One cached number, written and read as its storage type has it.
inline void StoreKv(void* pool, KvType type, Dim index, Real value) {
  if (type == KvType::kF16) {
    static_cast<uint16_t*>(pool)[index] = FloatToF16(static_cast<float>(value));
  } else {
    static_cast<Real*>(pool)[index] = value;
  }
}

inline Real LoadKv(const void* pool, KvType type, Dim index) {
  return type == KvType::kF16 ? Real{F16ToFloat(static_cast<const uint16_t*>(pool)[index])}
                              : static_cast<const Real*>(pool)[index];
}

}  // namespace hearth::kernels

#include "kernels/avx2_ops.h"

namespace hearth::kernels {
namespace {

Backend MakeAvx2Backend() {
  Backend b = RefBackend();
  b.name = "avx2";
  return b;
}

}  // namespace

const Backend& Avx2Backend() {
  static const Backend backend = MakeAvx2Backend();
  return backend;
}

}  // namespace hearth::kernels

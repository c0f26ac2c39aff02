#include "kernels/cuda/cuda_check.h"

#include <cstdio>
#include <cstdlib>

namespace hearth::kernels {

void DieOfCuda(cudaError_t error, const char* what) {
  const char* cure = error == cudaErrorMemoryAllocation ? "; raise --ec-reserve-gb or lower -cs" : "";
  std::fprintf(stderr, "fatal: %s: %s (%s)%s; the process ends, a new one can adopt the expert home\n", what,
               cudaGetErrorString(error), cudaGetErrorName(error), cure);
  std::fflush(stderr);
  std::_Exit(70);
}

}  // namespace hearth::kernels

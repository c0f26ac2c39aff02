#include "gateway/http/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace hearth::http {

uint32_t ConnectionsWithin(uint64_t descriptors, uint32_t wanted) {
  const uint64_t left = descriptors > kOtherDescriptors ? descriptors - kOtherDescriptors : 1;
  return static_cast<uint32_t>(std::min<uint64_t>(wanted, left));
}

uint64_t RaiseDescriptorLimit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kOtherDescriptors;
  rlimit raised = limit;
  raised.rlim_cur = raised.rlim_max;
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  return limit.rlim_cur;
}

}  // namespace hearth::http

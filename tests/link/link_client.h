#pragma once

#include <string>

#include "common/expert_home/home_view.h"
#include "gpu_worker/experts/cpu_tier_client.h"

namespace hearth::testing {

constexpr int kTopK = 4;
constexpr int kMaxRows = 8;

inline CpuTierClientOptions ClientOptions(const HomeView& home, const std::string& home_path, const std::string& folder,
                                          const std::string& address) {
  CpuTierClientOptions options;
  options.address = address;
  options.link_dir = folder;
  options.home_path = home_path;
  options.fingerprint = home.fingerprint();
  options.layers = home.layers();
  options.experts = home.experts();
  options.geometry = LinkGeometryFor(home.hidden(), home.experts(), kMaxRows, kTopK);
  return options;
}

}  // namespace hearth::testing

#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "common/base/byte_size.h"
#include "gpu_worker/experts/cache_policy.h"

namespace hearth {

enum class CpuLaneMode { kAuto, kAlways, kNever };

// Where the experts of a decode step are forced to, for tests and benchmarks.
//   kHit     every miss is copied into a slot first (as far as slots are free of pins)
//   kPcie    slots are ignored
//   kCpu     as CpuLaneMode::kAlways
//   kRandom  drawn for each expert, from `seed`
enum class ForceSource { kNone, kHit, kPcie, kCpu, kRandom };

struct ExecutorOptions {
  int64_t max_slots = 0;                   // GLM53_EC_MAX_SLOTS; 0: as many as the other limits allow
  uint64_t arena_bytes = 0;                // most memory for slots; 0: no limit but the number of experts
  uint64_t elastic_bytes = 10 * kGiB;      // GLM53_EC_ELASTIC_GB: most that the cache lends
  uint64_t stage_bytes = GibToBytes(2.6);  // GLM53_EC_STAGE_GB: size of each of the two staging buffers, at most

  // Most experts of the next layer that are fetched ahead while a layer's attention leaves the bus idle.
  int look_ahead = 0;

  bool exact = false;  // the CPU lane is never used
  CpuLaneMode cpu_lane = CpuLaneMode::kAuto;
  ForceSource force = ForceSource::kNone;
  uint64_t seed = 1;
  cache::Admission admission = cache::Admission::kByFrequency;

  // Cost constants in milliseconds; unset ones are measured. All are corrected by observed times.
  std::optional<double> ct_a, ct_b, ct_tzc;

  // A CPU job may take this long at least, whatever was predicted. Unset: 5 ms, or 50 ms with 4 CPUs or fewer
  // and where the lane is forced.
  std::optional<std::chrono::milliseconds> least_cpu_deadline;
  double cpu_deadline_factor = 3;
};

}  // namespace hearth

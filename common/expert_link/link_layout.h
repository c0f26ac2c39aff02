#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/base/result.h"

namespace hearth {

// The link: one small file on tmpfs through which a worker hands expert jobs to cpu_tier. docs/formats/link.md draws
// it.
//
//   LinkHeader | LinkSlot 0 | LinkSlot 1 | ..
//   slot:  SlotWorkerLine | SlotDaemonLine | JobExpert[max_experts] | x_row u32[max_picks]
//          | x f32[max_rows, hidden] | out f32[max_picks, hidden]
//
// Offsets count bytes from the start of the file, all parts are 64-byte aligned. Each cache line has one writer. A word
// that publishes others is stored last with release; its reader loads it with acquire. Neither side trusts the other:
// what steers a loop or an address is copied out and checked first. Changing anything here raises kLinkVersion.

constexpr char kLinkMagic[8] = {'H', 'R', 'T', 'H', 'L', 'I', 'N', 'K'};
constexpr uint32_t kLinkVersion = 1;

struct LinkGeometry {
  uint32_t hidden = 0;
  uint32_t max_rows = 0;     // activation rows of a job
  uint32_t max_picks = 0;    // result rows of a job
  uint32_t max_experts = 0;  // experts of a job
  uint32_t slots = 0;
};

struct alignas(64) LinkHeader {
  // Lines 0 to 2: written by the worker before `ready`, constant afterwards.
  char magic[8];
  uint32_t version;
  uint32_t header_bytes;
  uint64_t total_bytes;
  uint64_t slots_offset;
  uint64_t slot_stride;
  LinkGeometry geometry;
  uint32_t layers;
  uint32_t experts;  // per layer
  int32_t worker_pid;
  uint64_t worker_instance;
  uint64_t attachment;  // counts the regions that this worker made
  uint32_t unused0[9];
  std::atomic<uint32_t> ready;  // kLinkVersion, stored last
  char fingerprint[64];         // of the home

  // Line 3: worker.
  std::atomic<uint64_t> worker_beat;  // rises about every 100 ms
  std::atomic<uint32_t> bell;         // rises with every published job; the daemon sleeps on it
  std::atomic<uint32_t> closed;       // 1: this region is given up, nothing of it is read any more
  uint32_t unused1[12];

  // Line 4: daemon.
  std::atomic<uint64_t> daemon_beat;  // rises about every 100 ms
  std::atomic<uint64_t> daemon_instance;
  std::atomic<int32_t> daemon_pid;
  std::atomic<uint32_t> detached;  // 1: the daemon serves this region no more
  uint32_t unused2[10];

  // Line 5: daemon, counters for onlookers.
  std::atomic<uint64_t> jobs, job_experts, job_rows, busy_ns, first_after_idle, refused, abandoned;
  uint64_t unused3;
};
static_assert(std::is_standard_layout_v<LinkHeader> && sizeof(LinkHeader) == 384);
static_assert(offsetof(LinkHeader, geometry) == 40 && offsetof(LinkHeader, worker_instance) == 72);
static_assert(offsetof(LinkHeader, ready) == 124 && offsetof(LinkHeader, fingerprint) == 128);
static_assert(offsetof(LinkHeader, worker_beat) == 192, "the worker's words have a line of their own");
static_assert(offsetof(LinkHeader, daemon_beat) == 256 && offsetof(LinkHeader, jobs) == 320);

struct alignas(64) SlotWorkerLine {
  std::atomic<uint32_t> published;  // number of the job, never 0; stored last
  std::atomic<uint32_t> abandoned;  // number of a job nobody waits for any more; a hint
  uint32_t layer;
  uint32_t rows;
  uint32_t picks;
  uint32_t experts;
  uint32_t budget_us;  // how long the worker will wait
  uint32_t unused[9];
};
static_assert(sizeof(SlotWorkerLine) == 64 && offsetof(SlotWorkerLine, layer) == 8);

enum class JobOutcome : uint32_t { kComputed = 0, kRefused = 1, kAbandoned = 2 };

struct alignas(64) SlotDaemonLine {
  std::atomic<uint32_t> done;  // number of the job that is finished with, whatever its outcome; stored last
  uint32_t outcome;            // JobOutcome
  uint64_t elapsed_ns;
  uint32_t unused[12];
};
static_assert(sizeof(SlotDaemonLine) == 64 && offsetof(SlotDaemonLine, elapsed_ns) == 8);

// Picks of an expert: the next `picks` entries of x_row, and the next `picks` rows of out.
struct JobExpert {
  uint32_t expert;
  uint32_t picks;
};
static_assert(sizeof(JobExpert) == 8);

// Where the parts of a slot lie, from its start, and the size of it all.
struct LinkLayout {
  LinkGeometry geometry;
  uint64_t daemon_line = 0, experts = 0, x_row = 0, x = 0, out = 0;
  uint64_t slots_offset = 0, slot_stride = 0, total_bytes = 0;
};

// kInvalidArgument for a geometry that no model needs: it comes from the other process.
Result<LinkLayout> ComputeLinkLayout(const LinkGeometry& geometry);

}  // namespace hearth

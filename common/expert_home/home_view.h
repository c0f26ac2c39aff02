#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "common/expert_home/home_layout.h"
#include "common/matrix/matrix_view.h"

namespace hearth {

// Checksum of one expert: its matrices in `record`, its scale vectors in the home that starts at `base`.
uint64_t HomeRecordChecksum(const HomeExpert& entry, const std::byte* record, const std::byte* base);

// Checked read access to a mapped home, for worker and cpu_tier alike. Does not own the mapping.
class HomeView {
 public:
  // Verifies magic, version, fingerprint (unless empty), `complete`, and that every offset lies inside the region and
  // every matrix has the size its shape demands: the region is untrusted until then.
  static Result<HomeView> Open(const void* base, size_t bytes, const std::string& fingerprint);

  uint32_t layers() const { return header().layers; }
  uint32_t experts() const { return header().experts; }
  uint32_t hidden() const { return header().hidden; }
  uint32_t width() const { return header().width; }
  uint64_t record_stride() const { return header().record_stride; }
  std::string fingerprint() const;

  const HomeHeader& header() const { return *reinterpret_cast<const HomeHeader*>(base_); }
  const HomeExpert& entry(uint32_t layer, uint32_t expert) const;
  // Start of a record in the home; record_stride() bytes.
  const std::byte* record(uint32_t layer, uint32_t expert) const;
  // The expert's matrices as views into `record`, which is the home's own or a byte-identical copy (a cache slot or a
  // staging buffer).
  MlpView Expert(uint32_t layer, uint32_t expert, const std::byte* record) const;
  MlpView Expert(uint32_t layer, uint32_t expert) const { return Expert(layer, expert, record(layer, expert)); }

  // Scale vectors are read from `scales`, a copy of the home's second part (scales_bytes() from scales()), from now on.
  void UseScales(const std::byte* scales) { scales_ = scales; }
  const std::byte* scales() const { return base_ + header().scales_offset; }
  uint64_t scales_bytes() const { return header().records_offset - header().scales_offset; }

  // Recomputes a record's checksum from the home's bytes.
  uint64_t Checksum(uint32_t layer, uint32_t expert) const;

 private:
  explicit HomeView(const std::byte* base) : base_(base), scales_(scales()) {}
  const std::byte* base_;
  const std::byte* scales_;  // where readers find the scale vectors
};

}  // namespace hearth

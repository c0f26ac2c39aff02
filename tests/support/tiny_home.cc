#include "tests/support/tiny_home.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <random>

#include "common/base/check.h"
#include "common/base/float16.h"

namespace hearth::testing {
namespace {

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

struct Builder {
  const TinyHomeSpec& spec;
  std::byte* base;
  std::mt19937_64 random;
  uint64_t scale_at;

  void FillScales(uint64_t offset, uint32_t count, float size) {
    auto* out = reinterpret_cast<uint16_t*>(base + offset);
    for (uint32_t i = 0; i < count; ++i) out[i] = FloatToF16(random() % 2 == 0 ? size : -size);
  }

  HomeMatrix Matrix(uint32_t in, uint32_t out, std::byte* record, uint64_t& at) {
    HomeMatrix m;
    m.kind = static_cast<uint32_t>(WeightKind::kExl3);
    m.codebook = static_cast<uint32_t>(Codebook::kMul1);
    m.bits = spec.bits;
    m.in_features = in;
    m.out_features = out;
    m.in_padded = static_cast<uint32_t>(RoundUp(in, 128));
    m.out_padded = static_cast<uint32_t>(RoundUp(out, 128));
    m.data_offset = at;
    m.data_bytes = uint64_t{m.in_padded} * 16 * spec.bits * (m.out_padded / 128);
    at += RoundUp(m.data_bytes, 64);
    if (record == nullptr) return m;
    for (uint64_t i = 0; i < m.data_bytes; i += 8) {
      const uint64_t word = random();
      std::memcpy(record + m.data_offset + i, &word, 8);
    }
    m.suh_offset = scale_at;
    m.svh_offset = m.suh_offset + RoundUp(uint64_t{m.in_padded} * 2, 64);
    scale_at = m.svh_offset + RoundUp(uint64_t{m.out_padded} * 2, 64);
    FillScales(m.suh_offset, m.in_padded, 1.0f);
    FillScales(m.svh_offset, m.out_padded, 1.0f / std::sqrt(static_cast<float>(in)));
    return m;
  }
};

}  // namespace

TinyHome::TinyHome(const TinyHomeSpec& spec) {
  const uint64_t count = uint64_t{spec.layers} * spec.experts;
  uint64_t record_bytes = 0;
  Builder sizes{spec, nullptr, std::mt19937_64(), 0};
  sizes.Matrix(spec.hidden, spec.width, nullptr, record_bytes);
  sizes.Matrix(spec.hidden, spec.width, nullptr, record_bytes);
  sizes.Matrix(spec.width, spec.hidden, nullptr, record_bytes);
  const uint64_t hidden = RoundUp(spec.hidden, 128), width = RoundUp(spec.width, 128);
  const uint64_t scales_per_expert = 3 * (RoundUp(hidden * 2, 64) + RoundUp(width * 2, 64));

  HomeHeader h;
  std::memcpy(h.magic, kHomeMagic, sizeof h.magic);
  h.layout_version = kHomeLayoutVersion;
  h.header_bytes = sizeof(HomeHeader);
  HEARTH_CHECK(spec.fingerprint.size() < sizeof h.fingerprint, "fingerprint too long");
  std::memcpy(h.fingerprint, spec.fingerprint.data(), spec.fingerprint.size());
  h.layers = spec.layers;
  h.experts = spec.experts;
  h.hidden = spec.hidden;
  h.width = spec.width;
  h.swiglu_limit = spec.limit;
  h.filled_offset = RoundUp(sizeof(HomeHeader), 64);
  h.directory_offset = RoundUp(h.filled_offset + 4 * uint64_t{spec.layers}, 64);
  h.scales_offset = RoundUp(h.directory_offset + count * sizeof(HomeExpert), 64);
  h.records_offset = RoundUp(h.scales_offset + count * scales_per_expert, kHomeRecordAlignment);
  h.record_stride = RoundUp(record_bytes, kHomeRecordAlignment);
  h.total_bytes = h.records_offset + count * h.record_stride;
  h.complete = kHomeComplete;

  size_ = h.total_bytes;
  memory_.resize(size_ + kHomeRecordAlignment);
  base_ = memory_.data() + (kHomeRecordAlignment - reinterpret_cast<uintptr_t>(memory_.data()) % kHomeRecordAlignment);
  std::memcpy(base_, &h, sizeof h);
  for (uint32_t layer = 0; layer < spec.layers; ++layer) {
    const uint32_t one = 1;
    std::memcpy(base_ + h.filled_offset + 4 * uint64_t{layer}, &one, 4);
  }
  Builder builder{spec, base_, std::mt19937_64(spec.seed), h.scales_offset};
  for (uint64_t i = 0; i < count; ++i) {
    std::byte* const record = base_ + h.records_offset + i * h.record_stride;
    HomeExpert entry;
    uint64_t at = 0;
    entry.gate = builder.Matrix(spec.hidden, spec.width, record, at);
    entry.up = builder.Matrix(spec.hidden, spec.width, record, at);
    entry.down = builder.Matrix(spec.width, spec.hidden, record, at);
    entry.checksum = HomeRecordChecksum(entry, record, base_);
    std::memcpy(base_ + h.directory_offset + i * sizeof(HomeExpert), &entry, sizeof entry);
  }
}

HomeView TinyHome::view() const {
  Result<HomeView> view = HomeView::Open(base_, size_, "");
  HEARTH_CHECK(view.ok(), view.status().ToString());
  return *view;
}

void TinyHome::WriteTo(const std::string& path) const {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(base_), static_cast<std::streamsize>(size_));
  HEARTH_CHECK(file.good(), "cannot write " + path);
}

}  // namespace hearth::testing

#include "common/expert_home/home_view.h"

#include <atomic>
#include <cmath>
#include <cstring>

#include "common/base/check.h"
#include "common/base/hash64.h"

namespace hearth {
namespace {

constexpr uint32_t kMaxFeatures = 1u << 24;
constexpr uint64_t kMaxHomeBytes = uint64_t{1} << 50;  // keeps sums and products below 64 bits

uint64_t RoundUp128(uint64_t value) { return (value + 127) / 128 * 128; }

MatrixView ViewOf(const HomeMatrix& m) {
  MatrixView view;
  view.kind = static_cast<WeightKind>(m.kind);
  view.codebook = static_cast<Codebook>(m.codebook);
  view.bits = m.bits;
  view.in_features = m.in_features;
  view.out_features = m.out_features;
  view.in_padded = m.in_padded;
  view.out_padded = m.out_padded;
  return view;
}

// A part [offset, offset + bytes) of the home that starts and ends within [low, high).
bool Inside(uint64_t offset, uint64_t bytes, uint64_t low, uint64_t high) {
  return offset >= low && offset <= high && bytes <= high - offset;
}

std::string HeaderProblem(const HomeHeader& h, size_t bytes, const std::string& fingerprint) {
  if (std::memcmp(h.magic, kHomeMagic, sizeof kHomeMagic) != 0) return "is no expert home";
  if (h.layout_version != kHomeLayoutVersion || h.header_bytes != sizeof(HomeHeader)) {
    return StrCat("has layout version ", h.layout_version, ", expected ", kHomeLayoutVersion);
  }
  if (h.fingerprint[sizeof h.fingerprint - 1] != 0) return "has a fingerprint without an end";
  if (!fingerprint.empty() && fingerprint != h.fingerprint) {
    return StrCat("has fingerprint ", std::string(h.fingerprint).substr(0, 64), ", expected ", fingerprint);
  }
  if (h.layers == 0 || h.layers > 4096 || h.experts == 0 || h.experts > 65536) {
    return StrCat("has ", h.layers, " layers of ", h.experts, " experts");
  }
  if (h.hidden == 0 || h.hidden > kMaxFeatures || h.width == 0 || h.width > kMaxFeatures) {
    return StrCat("has experts of ", h.hidden, " x ", h.width);
  }
  if (!std::isfinite(h.swiglu_limit) || h.swiglu_limit <= 0) return "has a broken swiglu_limit";
  if (h.total_bytes > bytes) return StrCat("has ", bytes, " bytes, its header asks for ", h.total_bytes);
  if (h.total_bytes > kMaxHomeBytes || h.record_stride > kMaxHomeBytes) return "is larger than possible";
  const uint64_t count = uint64_t{h.layers} * h.experts;
  if (h.record_stride == 0 || h.record_stride % kHomeRecordAlignment != 0 ||
      h.records_offset % kHomeRecordAlignment != 0 || count > kMaxHomeBytes / h.record_stride ||
      !Inside(h.records_offset, count * h.record_stride, sizeof(HomeHeader), h.total_bytes)) {
    return "has records outside the file";
  }
  if (h.filled_offset % 64 != 0 ||
      !Inside(h.filled_offset, h.layers * sizeof(uint32_t), sizeof(HomeHeader), h.records_offset) ||
      h.directory_offset % 64 != 0 ||
      !Inside(h.directory_offset, count * sizeof(HomeExpert), sizeof(HomeHeader), h.records_offset) ||
      h.scales_offset % 64 != 0 || !Inside(h.scales_offset, 0, sizeof(HomeHeader), h.records_offset)) {
    return "has a table outside the file";
  }
  return "";
}

std::string MatrixProblem(const HomeMatrix& m, const HomeHeader& h, uint32_t in, uint32_t out) {
  const bool exl3 = m.kind == static_cast<uint32_t>(WeightKind::kExl3);
  if (m.kind < static_cast<uint32_t>(WeightKind::kExl3) || m.kind > static_cast<uint32_t>(WeightKind::kF32)) {
    return StrCat("is of kind ", m.kind);
  }
  if (exl3 && (m.bits < 1 || m.bits > 8 || m.codebook > static_cast<uint32_t>(Codebook::kMul1))) {
    return StrCat("has ", m.bits, " bits in codebook ", m.codebook);
  }
  if (m.in_features != in || m.out_features != out) {
    return StrCat("is ", m.in_features, " x ", m.out_features, ", expected ", in, " x ", out);
  }
  if (m.in_padded != (exl3 ? RoundUp128(in) : in) || m.out_padded != RoundUp128(out)) return "has a wrong padding";
  if (m.data_bytes != static_cast<uint64_t>(ViewOf(m).bytes()) || m.data_offset % 64 != 0 ||
      !Inside(m.data_offset, m.data_bytes, 0, h.record_stride)) {
    return "has data outside its record";
  }
  if (!exl3) return m.suh_offset == 0 && m.svh_offset == 0 ? "" : "has scales though it is plain";
  if (m.suh_offset % 64 != 0 || !Inside(m.suh_offset, uint64_t{m.in_padded} * 2, h.scales_offset, h.records_offset) ||
      m.svh_offset % 64 != 0 || !Inside(m.svh_offset, uint64_t{m.out_padded} * 2, h.scales_offset, h.records_offset)) {
    return "has scales outside the file";
  }
  return "";
}

uint64_t HashMatrix(const HomeMatrix& m, const std::byte* record, const std::byte* base, uint64_t seed) {
  seed = Hash64(record + m.data_offset, m.data_bytes, seed);
  if (m.suh_offset != 0) seed = Hash64(base + m.suh_offset, uint64_t{m.in_padded} * 2, seed);
  if (m.svh_offset != 0) seed = Hash64(base + m.svh_offset, uint64_t{m.out_padded} * 2, seed);
  return seed;
}

}  // namespace

uint64_t HomeRecordChecksum(const HomeExpert& entry, const std::byte* record, const std::byte* base) {
  uint64_t hash = HashMatrix(entry.gate, record, base, 0);
  hash = HashMatrix(entry.up, record, base, hash);
  return HashMatrix(entry.down, record, base, hash);
}

Result<HomeView> HomeView::Open(const void* base, size_t bytes, const std::string& fingerprint) {
  const std::string what = "expert home: ";
  if (bytes < sizeof(HomeHeader)) return FailedPrecondition(what, "has ", bytes, " bytes, too few for a header");
  if (reinterpret_cast<uintptr_t>(base) % alignof(HomeHeader) != 0) return Internal(what, "is mapped unaligned");
  const HomeView view(static_cast<const std::byte*>(base));
  const HomeHeader& h = view.header();
  // First of all, so that whatever follows is what the creator wrote before it.
  const uint64_t complete =
      std::atomic_ref<uint64_t>(const_cast<uint64_t&>(h.complete)).load(std::memory_order_acquire);
  if (std::string problem = HeaderProblem(h, bytes, fingerprint); !problem.empty()) {
    return FailedPrecondition(what, problem);
  }
  if (complete != kHomeComplete) return FailedPrecondition(what, "is not complete");
  const auto* filled = reinterpret_cast<const uint32_t*>(view.base_ + h.filled_offset);
  for (uint32_t layer = 0; layer < h.layers; ++layer) {
    if (filled[layer] != 1) return FailedPrecondition(what, "layer ", layer, " is not filled");
    for (uint32_t expert = 0; expert < h.experts; ++expert) {
      const HomeExpert& e = view.entry(layer, expert);
      std::string problem = MatrixProblem(e.gate, h, h.hidden, h.width);
      if (problem.empty()) problem = MatrixProblem(e.up, h, h.hidden, h.width);
      if (problem.empty()) problem = MatrixProblem(e.down, h, h.width, h.hidden);
      if (!problem.empty()) {
        return FailedPrecondition(what, "a matrix of expert ", expert, " of layer ", layer, " ", problem);
      }
    }
  }
  return view;
}

std::string HomeView::fingerprint() const { return header().fingerprint; }

const HomeExpert& HomeView::entry(uint32_t layer, uint32_t expert) const {
  HEARTH_CHECK(layer < layers() && expert < experts(), StrCat("layer ", layer, ", expert ", expert));
  const uint64_t index = uint64_t{layer} * experts() + expert;
  return reinterpret_cast<const HomeExpert*>(base_ + header().directory_offset)[index];
}

const std::byte* HomeView::record(uint32_t layer, uint32_t expert) const {
  HEARTH_CHECK(layer < layers() && expert < experts(), StrCat("layer ", layer, ", expert ", expert));
  return base_ + header().records_offset + (uint64_t{layer} * experts() + expert) * record_stride();
}

MlpView HomeView::Expert(uint32_t layer, uint32_t expert, const std::byte* record) const {
  const HomeExpert& e = entry(layer, expert);
  const auto scale = [&](uint64_t offset) {
    return offset == 0 ? nullptr : reinterpret_cast<const uint16_t*>(scales_ + (offset - header().scales_offset));
  };
  const auto matrix = [&](const HomeMatrix& m) {
    MatrixView view = ViewOf(m);
    view.data = record + m.data_offset;
    view.suh = scale(m.suh_offset);
    view.svh = scale(m.svh_offset);
    return view;
  };
  MlpView mlp;
  mlp.gate = matrix(e.gate);
  mlp.up = matrix(e.up);
  mlp.down = matrix(e.down);
  mlp.limit = header().swiglu_limit;
  return mlp;
}

uint64_t HomeView::Checksum(uint32_t layer, uint32_t expert) const {
  return HomeRecordChecksum(entry(layer, expert), record(layer, expert), base_);
}

}  // namespace hearth

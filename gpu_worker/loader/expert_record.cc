#include "gpu_worker/loader/expert_record.h"

#include <cstring>
#include <vector>

#include "common/base/hash64.h"
#include "gpu_worker/loader/aligned_buffer.h"
#include "gpu_worker/loader/matrix_fill.h"

namespace hearth {
namespace {

void FillMatrix(const TensorSource& source, const MatrixPlan& plan, const HomeMatrix& m, std::byte* record,
                std::byte* base) {
  FillStrips(source, plan, plan.kind, record + m.data_offset);
  if (!plan.quantized()) return;
  FillScale(source, plan, true, reinterpret_cast<uint16_t*>(base + m.suh_offset));
  FillScale(source, plan, false, reinterpret_cast<uint16_t*>(base + m.svh_offset));
}

bool SameMatrix(const TensorSource& source, const MatrixPlan& plan, const HomeMatrix& m, const std::byte* record,
                const std::byte* base) {
  AlignedBuffer strips(m.data_bytes);
  FillStrips(source, plan, plan.kind, strips.data());
  if (std::memcmp(strips.data(), record + m.data_offset, m.data_bytes) != 0) return false;
  if (!plan.quantized()) return true;
  std::vector<uint16_t> suh(m.in_padded), svh(m.out_padded);
  FillScale(source, plan, true, suh.data());
  FillScale(source, plan, false, svh.data());
  return std::memcmp(suh.data(), base + m.suh_offset, suh.size() * 2) == 0 &&
         std::memcmp(svh.data(), base + m.svh_offset, svh.size() * 2) == 0;
}

}  // namespace

void FillExpert(const TensorSource& source, const ExpertPlan& plan, const HomeExpert& entry, std::byte* record,
                std::byte* base) {
  FillMatrix(source, plan.gate, entry.gate, record, base);
  FillMatrix(source, plan.up, entry.up, record, base);
  FillMatrix(source, plan.down, entry.down, record, base);
}

std::string CompareExpert(const TensorSource& source, const ExpertPlan& plan, const HomeExpert& entry,
                          const std::byte* record, const std::byte* base) {
  if (!SameMatrix(source, plan.gate, entry.gate, record, base)) return plan.gate.key + " differs";
  if (!SameMatrix(source, plan.up, entry.up, record, base)) return plan.up.key + " differs";
  if (!SameMatrix(source, plan.down, entry.down, record, base)) return plan.down.key + " differs";
  return "";
}

uint64_t ExpertStamp(const TensorSource& source, const ExpertPlan& plan) {
  std::vector<uint64_t> stamps;
  for (const MatrixPlan* m : {&plan.gate, &plan.up, &plan.down}) {
    for (const TensorInfo* tensor : {m->data, m->in_scale, m->out_scale}) {
      stamps.push_back(tensor == nullptr ? 0 : source.ContentStamp(*tensor));
    }
  }
  return Hash64(stamps.data(), stamps.size() * sizeof(uint64_t));
}

}  // namespace hearth

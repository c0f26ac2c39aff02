#include "gpu_worker/loader/expert_plan.h"

#include <algorithm>
#include <cstring>

#include "common/base/startup_error.h"
#include "gpu_worker/loader/fingerprint.h"
#include "gpu_worker/loader/tensor_names.h"

namespace hearth {
namespace {

uint64_t RoundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

MatrixPlan ExpertMatrix(MatrixPlanner& planner, const std::string& key, kernels::Dim in, kernels::Dim out) {
  MatrixPlan plan = planner.Matrix(key, in, out);
  if (plan.bias != nullptr) {
    RefuseTensor(planner.source(), *plan.bias, "a bias of a routed expert is not implemented");
  }
  return plan;
}

// Places one matrix at `*data` in its record and its scales at `*scales` in the file, and moves both on.
HomeMatrix PlaceMatrix(const MatrixPlan& plan, uint64_t* data, uint64_t* scales) {
  HomeMatrix m;
  const MatrixView view = plan.Geometry(plan.kind);
  m.kind = static_cast<uint32_t>(view.kind);
  m.codebook = static_cast<uint32_t>(view.codebook);
  m.bits = view.bits;
  m.in_features = static_cast<uint32_t>(view.in_features);
  m.out_features = static_cast<uint32_t>(view.out_features);
  m.in_padded = static_cast<uint32_t>(view.in_padded);
  m.out_padded = static_cast<uint32_t>(view.out_padded);
  m.data_offset = *data;
  m.data_bytes = static_cast<uint64_t>(view.bytes());
  *data += RoundUp(m.data_bytes, 64);
  if (plan.quantized()) {
    m.suh_offset = *scales;
    *scales += RoundUp(uint64_t{m.in_padded} * 2, 64);
    m.svh_offset = *scales;
    *scales += RoundUp(uint64_t{m.out_padded} * 2, 64);
  }
  return m;
}

}  // namespace

std::vector<ExpertPlan> PlanExperts(const ModelConfig& config, MatrixPlanner& planner) {
  if (config.moe_layer_count() == 0) {
    throw StartupError(
        "config.json: mlp_layer_types has no \"sparse\" layer, models without routed experts are not implemented");
  }
  std::vector<ExpertPlan> experts;
  experts.reserve(static_cast<size_t>(config.moe_layer_count()) * static_cast<size_t>(config.n_routed_experts));
  for (int layer = 0; layer < config.num_hidden_layers; ++layer) {
    if (!config.is_moe[layer]) continue;
    for (int e = 0; e < config.n_routed_experts; ++e) {
      const std::string key = StrCat(LayerPrefix(layer), "mlp.experts.", e, ".");
      ExpertPlan plan;
      plan.gate = ExpertMatrix(planner, key + "gate_proj", config.hidden_size, config.moe_intermediate_size);
      plan.up = ExpertMatrix(planner, key + "up_proj", config.hidden_size, config.moe_intermediate_size);
      plan.down = ExpertMatrix(planner, key + "down_proj", config.moe_intermediate_size, config.hidden_size);
      experts.push_back(std::move(plan));
    }
  }
  return experts;
}

HomePlan PlanHome(const ModelConfig& config, const std::vector<ExpertPlan>& experts,
                  const std::string& source_fingerprint) {
  HomePlan plan;
  HomeHeader& h = plan.header;
  std::memcpy(h.magic, kHomeMagic, sizeof kHomeMagic);
  h.layout_version = kHomeLayoutVersion;
  h.header_bytes = sizeof(HomeHeader);
  h.layers = static_cast<uint32_t>(config.moe_layer_count());
  h.experts = static_cast<uint32_t>(config.n_routed_experts);
  h.hidden = static_cast<uint32_t>(config.hidden_size);
  h.width = static_cast<uint32_t>(config.moe_intermediate_size);
  h.swiglu_limit = config.swiglu_limit;
  h.filled_offset = RoundUp(sizeof(HomeHeader), 64);
  h.directory_offset = RoundUp(h.filled_offset + h.layers * sizeof(uint32_t), 64);
  h.scales_offset = RoundUp(h.directory_offset + experts.size() * sizeof(HomeExpert), 64);

  uint64_t scales = h.scales_offset, largest = 0;
  for (const ExpertPlan& expert : experts) {
    uint64_t data = 0;
    HomeExpert entry;
    entry.gate = PlaceMatrix(expert.gate, &data, &scales);
    entry.up = PlaceMatrix(expert.up, &data, &scales);
    entry.down = PlaceMatrix(expert.down, &data, &scales);
    largest = std::max(largest, data);
    plan.directory.push_back(entry);
  }
  h.records_offset = RoundUp(scales, kHomeRecordAlignment);
  h.record_stride = RoundUp(largest, kHomeRecordAlignment);
  h.total_bytes = h.records_offset + experts.size() * h.record_stride;

  Fingerprint fingerprint;
  fingerprint.Add(source_fingerprint);
  fingerprint.Add(uint64_t{kHomeLayoutVersion});
  fingerprint.Add(std::string_view(reinterpret_cast<const char*>(&h), sizeof h));
  fingerprint.Add(std::string_view(reinterpret_cast<const char*>(plan.directory.data()),
                                   plan.directory.size() * sizeof(HomeExpert)));
  const std::string hex = fingerprint.Hex();
  std::memcpy(h.fingerprint, hex.data(), hex.size());
  return plan;
}

uint64_t ExpertBytes(const std::vector<ExpertPlan>& experts) {
  uint64_t bytes = 0;
  for (const ExpertPlan& expert : experts) {
    for (const MatrixPlan* m : {&expert.gate, &expert.up, &expert.down}) {
      bytes += m->data->bytes;
      if (m->quantized()) bytes += m->in_scale->bytes + m->out_scale->bytes;
    }
  }
  return bytes;
}

}  // namespace hearth

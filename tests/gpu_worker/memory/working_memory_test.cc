#include "gpu_worker/memory/working_memory.h"

#include <gtest/gtest.h>

#include "common/base/byte_size.h"

namespace hearth {
namespace {

MatrixView Matrix(int64_t in, int64_t out, WeightKind kind) {
  return {.kind = kind, .bits = 3, .in_features = in, .out_features = out, .in_padded = in, .out_padded = out};
}

// The shape of GLM-5.3-Flash, a layer of each kind.
struct RealShape {
  ModelConfig model;
  ModelWeights weights;
  MlpView expert;

  explicit RealShape(WeightKind kind = WeightKind::kExl3) {
    model.num_hidden_layers = 2;
    model.hidden_size = 4096;
    model.vocab_size = 154880;
    model.layer_types = {AttentionKind::kKda, AttentionKind::kMla};
    model.is_moe = {true, true};
    model.hc_mult = 4;
    model.intermediate_size = 12288;
    model.moe_intermediate_size = 2048;
    model.n_routed_experts = 288;
    model.n_shared_experts = 1;
    model.num_experts_per_tok = 8;
    model.kda_heads = 64, model.kda_head_dim = 128, model.conv_kernel = 4;
    model.mla_heads = 64, model.q_lora_rank = 1536, model.kv_lora_rank = 512;
    model.qk_nope_head_dim = model.v_head_dim = 256;
    model.index_n_heads = 32, model.index_head_dim = 128, model.index_topk = 2048, model.index_kpool = 4;
    weights.head = Matrix(4096, 154880, kind);
    weights.layers.resize(1);
    KdaWeights& kda = weights.layers[0].kda.emplace();
    kda.qkv = {Matrix(4096, 3 * 8192, kind)};
    kda.o = Matrix(8192, 4096, kind);
    expert = {.gate = Matrix(4096, 2048, kind), .up = Matrix(4096, 2048, kind), .down = Matrix(2048, 4096, kind)};
  }
  uint64_t Bytes(int64_t chunk, int64_t batch, int64_t tokens) const {
    return WorkingBytes(model, weights, {&expert, 1},
                        {.chunk_size = chunk, .max_batch_rows = batch, .pool_tokens = tokens});
  }
};

TEST(WorkingBytes, TheRealShapeFitsTheDefaultReserves) {
  const uint64_t bytes = RealShape().Bytes(8192, 4, 131072);
  EXPECT_GT(bytes, 384 * kMiB) << "prefill of experts alone";
  EXPECT_LT(bytes, kGiB) << "the reserve of exact, the smaller of the defaults";
}

TEST(WorkingBytes, CountsThePartialSumsAndLogitsOfAScoredPrompt) {
  // 64 rows of a plain head: 1,210 strips of 16 slices, and the logits beside them.
  constexpr uint64_t kPartial = uint64_t{64} * 1210 * 16 * 128 * 4, kLogits = uint64_t{64} * 154880 * 4;
  EXPECT_GT(RealShape(WeightKind::kF32).Bytes(64, 1, 1024), kPartial + kLogits);
  EXPECT_LT(RealShape(WeightKind::kExl3).Bytes(64, 1, 1024), kPartial);
}

TEST(WorkingBytes, GrowsWithChunkBatchAndContext) {
  const RealShape shape;
  EXPECT_LT(shape.Bytes(64, 4, 131072), shape.Bytes(8192, 4, 131072));
  EXPECT_LE(shape.Bytes(8192, 4, 131072), shape.Bytes(8192, 64, 131072));
  EXPECT_LT(shape.Bytes(64, 4, 4096), shape.Bytes(64, 4, 16 << 20));
  EXPECT_LT(shape.Bytes(32768, 64, 16 << 20), 2 * kGiB) << "operands and scores go in pieces of bounded size";
}

}  // namespace
}  // namespace hearth

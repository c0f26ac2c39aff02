#include "gpu_worker/settings.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "common/config/load_config.h"
#include "common/ipc/shared_file.h"
#include "gpu_worker/model_engine.h"
#include "tests/gpu_worker/loader/temp_dir.h"

namespace hearth {
namespace {

WorkerConfig Parse(std::vector<std::string> args, std::map<std::string, std::string> environment = {}) {
  return ParseConfig<WorkerConfig>({.program = "w", .args = std::move(args), .environment = std::move(environment)});
}

ModelConfig Model(int64_t max_tokens, int heads) {
  ModelConfig model;
  model.max_position_embeddings = max_tokens;
  model.num_hidden_layers = 1;
  model.layer_types = {AttentionKind::kKda};
  model.kda_heads = heads;
  model.kda_head_dim = 128;
  model.conv_kernel = 4;
  model.index_kpool = 4;
  return model;
}

ChosenKernels Host() { return ChooseKernels(Parse({"--device", "host"})); }

#ifndef HEARTH_WITH_CUDA
TEST(ChooseKernels, ABuildWithoutCudaSaysSoWhereAGpuIsLeftUnused) {
  const testing::TempDir root;
  EXPECT_EQ(ChooseKernels(Parse({}), root.path()).no_cuda, "");
  std::filesystem::create_directories(root / "dev");
  std::ofstream(root / "dev/nvidiactl").flush();
  EXPECT_NE(ChooseKernels(Parse({}), root.path()).no_cuda.find("HEARTH_CUDA=ON"), std::string::npos);
  EXPECT_EQ(ChooseKernels(Parse({"--device", "host"}), root.path()).no_cuda, "");
}
#endif

TEST(WorkerConfig, KnowsTheOldNames) {
  const WorkerConfig config =
      Parse({"-m", "/x", "-cs", "4096", "-ambs", "6", "-chunk_size", "512", "--max-batch-size", "3", "--max-q-size=9"},
            {{"GLM53_MODE", "exact"},
             {"GLM53_VRAM_GB", "12.5"},
             {"GLM53_EC_MAX_SLOTS", "1312"},
             {"GLM53_EC_RESERVE_GB", "1"},
             {"GLM53_EC_ELASTIC_GB", "3"},
             {"GLM53_EC_STAGE_GB", "2"},
             {"GLM53_CT_A", "0.5"},
             {"GLM53_TRITON_PIN", "1"},
             {"GLM53_CT_SWZ", "1"}});
  EXPECT_EQ(config.model, "/x");
  EXPECT_TRUE(config.exact());
  EXPECT_EQ(config.chunk_size, std::optional<int64_t>(512));
  EXPECT_EQ(config.max_queue, 9);
  const Settings settings = Settle(config, Model(8192, 2), Host());
  EXPECT_EQ(settings.context, 4096);
  EXPECT_EQ(settings.sequences, 6);
  EXPECT_EQ(settings.max_batch_rows, 3);
  EXPECT_EQ(settings.remarks.size(), 2u) << "the two without effect are reported";
  EXPECT_EQ(DeviceLimits(config, Host()).max_expert_slots, 1312);
  EXPECT_EQ(DeviceLimits(config, Host()).vram_bytes, 12 * kGiB + 512 * kMiB);
  EXPECT_EQ(DeviceLimits(config, Host()).reserve_bytes, kGiB);
  const ExecutorOptions options = ExecutorSettings(config, {.expert_slots = 77}, Host());
  EXPECT_EQ(options.max_slots, 77);
  EXPECT_EQ(options.elastic_bytes, 3 * kGiB);
  EXPECT_EQ(options.ct_a, 0.5);
  EXPECT_TRUE(options.exact);
}

TEST(Settings, LookAheadIsForDevicesUnlessAskedFor) {
  ChosenKernels gpu = Host();
  gpu.vram_bytes = 24 * kGiB;
  EXPECT_EQ(LookAheadBuffers(Parse({}), Host()), 0);
  EXPECT_EQ(LookAheadBuffers(Parse({}), gpu), 2);
  EXPECT_EQ(LookAheadBuffers(Parse({"--look-ahead", "3"}), Host()), 3);
  EXPECT_EQ(LookAheadBuffers(Parse({"--look-ahead", "0"}), gpu), 0);
  EXPECT_THROW(Parse({"--look-ahead", "17"}), StartupError);
  EXPECT_THROW(Parse({"--look-ahead", "-1"}), StartupError);
}

TEST(WorkerConfig, ReportsAllProblemsTogether) {
  try {
    Parse({"--mode", "sloppy", "-chunk_size", "100", "-ambs", "0", "--max-q-size", "0", "--ec-max-slots", "-3"});
    FAIL() << "accepted";
  } catch (const StartupError& error) {
    const std::string text = error.what();
    for (const char* word :
         {"5 problems", "sloppy", "--chunk-size", "--max-sequences", "--max-q-size", "--ec-max-slots"}) {
      EXPECT_NE(text.find(word), std::string::npos) << word << " in\n" << text;
    }
  }
}

TEST(Settings, DefaultsFollowTheModel) {
  const WorkerConfig config = Parse({});
  const Settings tiny = Settle(config, Model(8192, 2), Host());
  EXPECT_EQ(tiny.context, 8192);
  EXPECT_EQ(tiny.pool_tokens, 8192);
  EXPECT_EQ(tiny.sequences, 64);
  EXPECT_EQ(tiny.max_batch_rows, 8);
  EXPECT_EQ(tiny.kv_type, kernels::KvType::kF32);
  EXPECT_TRUE(tiny.remarks.empty());
  const Settings large = Settle(config, Model(1 << 20, 512), Host());
  EXPECT_EQ(large.context, 131072);
  EXPECT_EQ(large.sequences, 4);
  EXPECT_EQ(large.max_batch_rows, 4) << "clamped aloud";
  EXPECT_EQ(large.remarks.size(), 1u);
}

TEST(Settings, APoolBeyondTheModelServesSeveralRequests) {
  const Settings settings = Settle(Parse({"-cs", "65536"}), Model(8192, 2), Host());
  EXPECT_EQ(settings.context, 8192);
  EXPECT_EQ(settings.pool_tokens, 65536);
  EXPECT_EQ(settings.remarks.size(), 1u);
}

TEST(Settings, ACpuTierIsUsedInFastModeOrWhenForced) {
  EXPECT_TRUE(UsesCpuTier(Parse({})));
  EXPECT_FALSE(UsesCpuTier(Parse({"--cpu-tier", ""})));
  EXPECT_FALSE(UsesCpuTier(Parse({"--mode", "exact"})));
  EXPECT_FALSE(UsesCpuTier(Parse({"--cpu-lane", "never"})));
  EXPECT_TRUE(UsesCpuTier(Parse({"--mode", "exact", "--force-source", "cpu"})));
  EXPECT_TRUE(UsesCpuTier(Parse({"--mode", "exact", "--cpu-lane", "always"})));
}

TEST(Settings, RefusesADeviceThatIsNotThere) {
  EXPECT_THROW(ChooseKernels(Parse({"--device", "cuda"})), StartupError);
  EXPECT_EQ(ChooseKernels(Parse({"--backend", "ref"})).name, "host-ref");
}

TEST(Settings, KernelsOfTheHostAreNotNamedForAGpu) {
  EXPECT_EQ(BackendProblem(Parse({"--backend", "ref"}), false), "");
  EXPECT_EQ(BackendProblem(Parse({}), true), "");
  const std::string problem = BackendProblem(Parse({"--backend", "avx2"}), true);
  for (const char* word : {"--backend is avx2", "--device auto", "--device host"}) {
    EXPECT_NE(problem.find(word), std::string::npos) << word << " in " << problem;
  }
  try {
    ChooseKernels(Parse({"--device", "cuda", "--backend", "ref"}));
    FAIL() << "accepted";
  } catch (const StartupError& error) {
    EXPECT_NE(std::string(error.what()).find("--backend is ref"), std::string::npos) << error.what();
  }
}

TEST(Settings, WhatOthersHoldOfACardIsNotTheWorkers) {
  ChosenKernels gpu = Host();
  gpu.vram_bytes = 48 * kGiB;
  gpu.vram_taken = 600 * kMiB;
  EXPECT_EQ(DeviceLimits(Parse({}), gpu).others_bytes, 0u);
  EXPECT_EQ(SplitVram(gpu.vram_taken).own_bytes, 600 * kMiB);
  gpu.vram_taken = 21 * kGiB;
  const MemoryLimits limits = DeviceLimits(Parse({"--vram-gb", "24"}), gpu);
  EXPECT_EQ(limits.vram_bytes, 24 * kGiB);
  EXPECT_EQ(limits.card_bytes, 48 * kGiB);
  EXPECT_EQ(limits.others_bytes, 20 * kGiB);
  EXPECT_EQ(DeviceLimits(Parse({}), Host()).card_bytes, 0u);
}

TEST(WaitForHome, WaitsForWhoeverHoldsIt) {
  using std::chrono::milliseconds;
  const testing::TempDir dir;
  const std::string home = dir / "home";
  EXPECT_TRUE(WaitForHome(home, milliseconds(0)).ok()) << "nobody has made it";
  Result<SharedFile> lock = SharedFile::Create(home + ".lock", 1, {});
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(lock->TryLockFor(SharedFile::LockKind::kExclusive, Deadline::After(milliseconds(0))).ok());
  const Status held = WaitForHome(home, milliseconds(20));
  EXPECT_NE(held.message().find("another worker held the lock"), std::string::npos) << held.message();
  std::thread predecessor([&] {
    std::this_thread::sleep_for(milliseconds(50));
    lock->Unlock();
  });
  EXPECT_TRUE(WaitForHome(home, milliseconds(30'000)).ok());
  predecessor.join();
}

TEST(CudaShapeProblem, NamesKeyValueBoundAndWhatHelps) {
  ModelConfig model = Model(8192, 2);
  model.num_hidden_layers = 2;
  model.layer_types = {AttentionKind::kKda, AttentionKind::kMla};
  model.is_moe = {true, true};
  model.mla_heads = 64;
  model.kv_lora_rank = 512, model.index_head_dim = 128, model.n_routed_experts = 288;
  EXPECT_EQ(CudaShapeProblem(model), "");
  struct Case {
    const char* key;
    int ModelConfig::*field;
    int most, bound;
  };
  for (const Case& c : {Case{"head_dim", &ModelConfig::kda_head_dim, 512, 512},
                        Case{"index_kpool * index_head_dim", &ModelConfig::index_head_dim, 12288 / 4, 12288},
                        Case{"n_routed_experts", &ModelConfig::n_routed_experts, 6144, 6144},
                        Case{"kv_lora_rank", &ModelConfig::kv_lora_rank, 5952, 5952}}) {
    ModelConfig odd = model;
    odd.*c.field = c.most;
    EXPECT_EQ(CudaShapeProblem(odd), "") << c.key;
    odd.*c.field = c.most + 1;
    const std::string problem = CudaShapeProblem(odd);
    for (const std::string& word : {std::string(c.key), StrCat("at most ", c.bound), std::string("--device host")}) {
      EXPECT_NE(problem.find(word), std::string::npos) << word << " in " << problem;
    }
    ChosenKernels gpu = Host();
    EXPECT_NO_THROW(Settle(Parse({}), odd, gpu));
    gpu.vram_bytes = 24 * kGiB;
    EXPECT_THROW(Settle(Parse({}), odd, gpu), StartupError);
  }
}

TEST(Settle, ExactOnAGpuRefusesTheCpuLane) {
  ChosenKernels gpu = Host();
  gpu.vram_bytes = 24 * kGiB;
  for (const char* flag : {"--cpu-lane=always", "--force-source=cpu", "--force-source=random"}) {
    EXPECT_THROW(Settle(Parse({"--mode", "exact", flag}), Model(8192, 2), gpu), StartupError) << flag;
    EXPECT_NO_THROW(Settle(Parse({"--mode", "fast", flag}), Model(8192, 2), gpu)) << flag;
    EXPECT_NO_THROW(Settle(Parse({"--mode", "exact", flag}), Model(8192, 2), Host())) << flag;
  }
}

TEST(Settle, AGpuHasLargeChunksAndHalfPrecisionLatents) {
  ChosenKernels gpu = Host();
  gpu.vram_bytes = 24 * kGiB;
  const Settings settings = Settle(Parse({}), Model(8192, 2), gpu);
  EXPECT_EQ(settings.chunk_size, 8192);
  EXPECT_EQ(settings.kv_type, kernels::KvType::kF16);
  EXPECT_EQ(DeviceLimits(Parse({}), gpu).reserve_bytes, kGiB + 512 * kMiB);
  EXPECT_EQ(DeviceLimits(Parse({"--mode", "exact"}), gpu).reserve_bytes, kGiB);
  EXPECT_EQ(DeviceLimits(Parse({"--vram-gb", "80"}), gpu).vram_bytes, 24 * kGiB);
}

}  // namespace
}  // namespace hearth

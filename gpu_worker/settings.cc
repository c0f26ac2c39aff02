#include "gpu_worker/settings.h"

#include <unistd.h>

#include <algorithm>

#include "common/base/byte_size.h"
#include "common/base/startup_error.h"
#include "gpu_worker/loader/host_memory.h"
#include "gpu_worker/model/sequence_store.h"
#ifdef HEARTH_WITH_CUDA
#include "kernels/cuda_backend.h"
#endif

namespace hearth {
namespace {

constexpr int64_t kDefaultContext = 131072;
// Cancellation and decode steps wait for the end of a layer; with 1,024 tokens one takes some tens of milliseconds
// here.
constexpr int64_t kHostChunk = 1024;
constexpr int64_t kFewSequences = 4, kManySequences = 64;
constexpr size_t kSmallStateBytes = 4 * kMiB;
// The emulated card of the host device: a common one, but at most half of the RAM that is there.
constexpr uint64_t kHostVramBytes = 24 * kGiB;
constexpr int64_t kDeviceChunk = 8192;
constexpr uint64_t kMostContextBytes = kGiB;  // about 0.6 GB on an H200
constexpr double kReserveFastGb = 1.5, kReserveExactGb = 1.0;

// Fills in the GPU, or says why there is none.
#ifdef HEARTH_WITH_CUDA
constexpr bool kBuiltWithCuda = true;
std::string TakeGpu(const WorkerConfig& config, ChosenKernels& chosen) {
  if (std::string problem = kernels::CudaProblem(); !problem.empty()) return problem;
  using kernels::PrefillOperands;
  chosen.backend = &kernels::CudaBackend(config.act == "f16x2" ? PrefillOperands::kF16x2 : PrefillOperands::kF16);
  const kernels::CudaDevice device = kernels::DescribeCudaDevice();
  chosen.name = "cuda";
  chosen.device = device.name;
  chosen.vram_bytes = device.total_bytes;
  chosen.vram_taken = device.total_bytes - device.free_bytes;
  return "";
}
#else
constexpr bool kBuiltWithCuda = false;
std::string TakeGpu(const WorkerConfig&, ChosenKernels&) {
  return "this build has no CUDA; use --device host, or build with HEARTH_CUDA=ON";
}
#endif

// The driver makes the file on a host, and the container runtime in a container that was given a GPU.
bool HasNvidiaDevice(const std::string& root) { return access((root + "/dev/nvidiactl").c_str(), F_OK) == 0; }

// What a launch may have of shared memory without asking for more, in floats.
constexpr int64_t kSharedFloats = 48 * 1024 / sizeof(float);
constexpr int64_t kGridRows = 65535;  // second dimension of a grid

}  // namespace

std::string BackendProblem(const WorkerConfig& config, bool gpu) {
  if (config.backend == "auto" || !gpu) return "";
  return StrCat("--backend is ", config.backend, ", which names kernels of the host device, but with --device ",
                config.device, " the model runs on the GPU; add --device host, or leave --backend out");
}

ChosenKernels ChooseKernels(const WorkerConfig& config, const std::string& root) {
  ChosenKernels chosen;
  if (config.device != "host") {
    if (std::string wrong = BackendProblem(config, config.device == "cuda"); !wrong.empty()) throw StartupError(wrong);
    const std::string problem = TakeGpu(config, chosen);
    if (problem.empty()) {
      if (std::string wrong = BackendProblem(config, true); !wrong.empty()) throw StartupError(wrong);
      return chosen;
    }
    if (config.device == "cuda") throw StartupError(StrCat("--device is cuda, but ", problem));
    if (kBuiltWithCuda || HasNvidiaDevice(root)) chosen.no_cuda = problem;
  }
  if (config.act != "f16") {
    throw StartupError(StrCat("--act is ", config.act, ", but the model runs on the host, which multiplies in fp32; ",
                              "leave it out"));
  }
  const bool avx2 = kernels::HostHasAvx2();
  if (config.backend == "avx2" && !avx2) {
    throw StartupError("--backend is avx2, but this CPU lacks AVX2, FMA or F16C; use --backend ref");
  }
  const bool ref = config.backend == "ref" || !avx2;
  chosen.backend = ref ? &kernels::RefBackend() : &kernels::Avx2Backend();
  chosen.name = ref ? "host-ref" : "host-avx2";
  return chosen;
}

std::string ChooseHomeDir(const WorkerConfig& config) {
  if (!config.home_dir.empty()) return config.home_dir;
  constexpr const char* kProperPlace = "/run/hearth";
  return access(kProperPlace, W_OK | X_OK) == 0 ? kProperPlace : "/dev/shm";
}

// The bounds are those of the kernels named; others cut what is larger.
std::string CudaShapeProblem(const ModelConfig& model) {
  std::string problem;
  const auto most = [&](const char* key, int64_t value, int64_t bound) {
    if (value <= bound || !problem.empty()) return;
    problem = StrCat("config.json: ", key, " is ", value, ", but the CUDA kernels take at most ", bound,
                     "; use --device host");
  };
  if (model.kda_layer_count() > 0) {
    most("linear_attn_config: head_dim", model.kda_head_dim, 512);      // kda_recurrent_cuda.cu
    most("linear_attn_config: num_heads", model.kda_heads, kGridRows);  // kda_recurrent_cuda.cu
  }
  if (model.mla_layer_count() > 0) {
    // latent_attention_cuda.cu: query and mixture, beside 1,536 bytes for a tile's weights and slots.
    most("kv_lora_rank", model.kv_lora_rank, (kSharedFloats - 1536 / int64_t{sizeof(float)}) / 2);
    most("num_attention_heads", model.mla_heads, kGridRows);  // head_linear_cuda.cu
    most("index_kpool * index_head_dim", int64_t{model.index_kpool} * model.index_head_dim,
         kSharedFloats);  // index_pool_cuda.cu
  }
  if (model.moe_layer_count() > 0) {
    most("n_routed_experts", model.n_routed_experts, kSharedFloats / 2);  // router_cuda.cu
  }
  return problem;
}

Settings Settle(const WorkerConfig& config, const ModelConfig& model, const ChosenKernels& kernels) {
  if (!kernels.on_host()) {
    if (std::string problem = CudaShapeProblem(model); !problem.empty()) throw StartupError(problem);
  }
  if (!kernels.on_host() && config.exact() && UsesCpuTier(config)) {
    throw StartupError(
        "--mode exact with --cpu-lane always, or with --force-source cpu or random: a GPU and the CPU tier round "
        "differently, so exact never uses the CPU lane there; use --mode fast, or --device host");
  }
  Settings out;
  out.pool_tokens = config.context_tokens.value_or(std::min(kDefaultContext, model.max_position_embeddings));
  out.context = std::min(out.pool_tokens, model.max_position_embeddings);
  if (out.pool_tokens > model.max_position_embeddings) {
    out.remarks.push_back(StrCat("-cs is ", out.pool_tokens, ": one request gets at most the model's ",
                                 model.max_position_embeddings, " tokens, the rest of the pool serves others"));
  }
  out.chunk_size = config.chunk_size.value_or(kernels.on_host() ? kHostChunk : kDeviceChunk);
  const bool small = SequenceStore::StateBytesPerSlot(model) <= kSmallStateBytes;
  out.sequences = config.sequences.value_or(small ? kManySequences : kFewSequences);
  out.max_batch_rows = std::min(config.max_batch_size, out.sequences);
  if (out.max_batch_rows != config.max_batch_size) {
    out.remarks.push_back(StrCat("--max-batch-size ", config.max_batch_size, " clamped to ", out.max_batch_rows,
                                 ", the number of sequences (-ambs)"));
  }
  const bool f16 = config.kv_type == "auto" ? !kernels.on_host() : config.kv_type == "f16";
  out.kv_type = f16 ? kernels::KvType::kF16 : kernels::KvType::kF32;
  if (!config.triton_pin.empty()) out.remarks.push_back("GLM53_TRITON_PIN has no effect: nothing is tuned at run time");
  if (!config.ct_swz.empty()) out.remarks.push_back("GLM53_CT_SWZ has no effect: there is one layout of the weights");
  return out;
}

bool UsesCpuTier(const WorkerConfig& config) {
  if (config.cpu_tier.empty()) return false;
  const bool forced = config.cpu_lane == "always" || config.force_source == "cpu" || config.force_source == "random";
  return forced || (!config.exact() && config.cpu_lane != "never");
}

VramUse SplitVram(uint64_t taken_bytes) {
  const uint64_t own = std::min(taken_bytes, kMostContextBytes);
  return {.own_bytes = own, .others_bytes = taken_bytes - own};
}

uint64_t MeasureVramTaken(const ChosenKernels& kernels) {
#ifdef HEARTH_WITH_CUDA
  if (!kernels.on_host()) return kernels.vram_bytes - kernels::DescribeCudaDevice().free_bytes;
#endif
  return kernels.vram_taken;
}

MemoryLimits DeviceLimits(const WorkerConfig& config, const ChosenKernels& kernels) {
  MemoryLimits limits{.max_expert_slots = config.max_slots.value_or(0)};
  if (kernels.on_host()) {
    const uint64_t ram =
        config.assume_ram_gb ? GibToBytes(*config.assume_ram_gb) : AvailableMemory().value_or(2 * kHostVramBytes);
    limits.vram_bytes = std::min(kHostVramBytes, ram / 2);
    limits.reserve_bytes = GibToBytes(config.reserve_gb.value_or(0));
  } else {
    limits.vram_bytes = limits.card_bytes = kernels.vram_bytes;
    limits.others_bytes = SplitVram(kernels.vram_taken).others_bytes;
    limits.reserve_bytes = GibToBytes(config.reserve_gb.value_or(config.exact() ? kReserveExactGb : kReserveFastGb));
  }
  if (config.vram_gb)
    limits.vram_bytes = std::min(GibToBytes(*config.vram_gb), kernels.on_host() ? ~uint64_t{0} : kernels.vram_bytes);
  return limits;
}

int LookAheadBuffers(const WorkerConfig& config, const ChosenKernels& kernels) {
  return static_cast<int>(config.look_ahead.value_or(kernels.on_host() ? 0 : 2));
}

ExecutorOptions ExecutorSettings(const WorkerConfig& config, const MemoryPlan& plan, const ChosenKernels& kernels) {
  ExecutorOptions out;
  out.max_slots = plan.expert_slots;
  out.elastic_bytes = GibToBytes(config.elastic_gb);
  out.stage_bytes = GibToBytes(config.stage_gb);
  out.look_ahead = LookAheadBuffers(config, kernels);
  // A forced CPU lane serves exact mode too: on the host both lanes give the same bits, and tests compare them.
  out.exact = config.exact() && !(kernels.on_host() && UsesCpuTier(config));
  if (config.cpu_lane == "always") out.cpu_lane = CpuLaneMode::kAlways;
  if (config.cpu_lane == "never") out.cpu_lane = CpuLaneMode::kNever;
  if (config.force_source == "hit") out.force = ForceSource::kHit;
  if (config.force_source == "pcie") out.force = ForceSource::kPcie;
  if (config.force_source == "cpu") out.force = ForceSource::kCpu;
  if (config.force_source == "random") out.force = ForceSource::kRandom;
  out.ct_a = config.ct_a;
  out.ct_b = config.ct_b;
  out.ct_tzc = config.ct_tzc;
  return out;
}

}  // namespace hearth

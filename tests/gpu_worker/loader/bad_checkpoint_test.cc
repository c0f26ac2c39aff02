#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "gpu_worker/loader/load_model.h"
#include "gpu_worker/loader/small_file.h"
#include "tests/gpu_worker/loader/checkpoint_editor.h"
#include "tests/gpu_worker/loader/temp_dir.h"

namespace hearth {
namespace {

using testing::CheckpointEditor;
using testing::ReadFile;
using testing::TempDir;
using testing::WriteFile;

namespace fs = std::filesystem;

const std::string kTiny = HEARTH_SOURCE_DIR "/models/hearth-tiny";
const std::string kExpert = "model.language_model.layers.2.mlp.experts.5.up_proj";
const std::string kNorm = "model.language_model.norm.weight";
const std::string kLowRank = "model.language_model.layers.0.self_attn.f_b_proj.weight";

// What LoadModel says about a directory; "" when it loads. Nothing may stay in the home directory after a refusal.
std::string Refusal(const std::string& directory) {
  TempDir home;
  LoadOptions options;
  options.home.home_dir = home.path();
  try {
    LoadModel(directory, options);
  } catch (const StartupError& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    EXPECT_LT(text.size(), 1000u) << text;
    for (const auto& entry : fs::directory_iterator(home.path())) {
      EXPECT_EQ(entry.path().extension(), ".lock") << entry.path();
    }
    return text;
  }
  return "";
}

void ExpectAll(const std::string& text, const std::vector<std::string>& parts) {
  ASSERT_FALSE(text.empty()) << "it loaded";
  for (const std::string& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

void CopyTiny(const std::string& to) {
  for (const auto& entry : fs::directory_iterator(kTiny)) fs::copy(entry.path(), to);
}

struct EditCase {
  const char* name;
  std::function<void(CheckpointEditor&)> edit;
  std::vector<std::string> parts;
};

void Retype(CheckpointEditor& e, const std::string& name, const std::string& dtype) {
  e.tensors.at(name).dtype = dtype;
}

const EditCase kCases[] = {
    {"missing vector", [](auto& e) { e.tensors.erase(kNorm); }, {kNorm, "is missing"}},
    {"missing trellis",
     [](auto& e) { e.tensors.erase(kExpert + ".trellis"); },
     {kExpert + ".trellis", "is missing", kExpert + ".weight"}},
    {"missing svh", [](auto& e) { e.tensors.erase(kExpert + ".svh"); }, {kExpert + ".sv", "is missing", ".svh"}},
    {"dtype of a vector",
     [](auto& e) { e.tensors["model.language_model.layers.0.hc_attn_scale"].dtype = "I32"; },
     {"hc_attn_scale", "I32", "expected F32, F16 or BF16", "model.safetensors"}},
    {"dtype of a trellis", [](auto& e) { Retype(e, kExpert + ".trellis", "F16"); }, {kExpert, "F16", "expected I16"}},
    {"dtype of suh", [](auto& e) { Retype(e, kExpert + ".suh", "BF16"); }, {kExpert + ".suh", "BF16", "F16 [256]"}},
    {"shape of a vector",
     [](auto& e) {
       e.tensors[kNorm].shape = {128, 2};
     },
     {kNorm, "[128, 2]", "[256]"}},
    {"transposed matrix",
     [](auto& e) { std::reverse(e.tensors[kLowRank].shape.begin(), e.tensors[kLowRank].shape.end()); },
     {kLowRank, "[128, 256]", "expected [256, 128]", "transposed"}},
    {"transposed trellis",
     [](auto& e) { std::swap(e.tensors[kExpert + ".trellis"].shape[0], e.tensors[kExpert + ".trellis"].shape[1]); },
     {kExpert + ".trellis", "transposed"}},
    {"trellis of nine bits",
     [](auto& e) {
       auto& t = e.tensors[kExpert + ".trellis"];
       t.shape[2] = 144;
       t.bytes.resize(static_cast<size_t>(t.shape[0] * t.shape[1] * 144 * 2));
     },
     {kExpert + ".trellis", "144", "K of 1 to 8"}},
    {"half rate",
     [](auto& e) {
       auto& t = e.tensors[kExpert + ".trellis"];
       t.shape[2] = 40;
       t.bytes.resize(static_cast<size_t>(t.shape[0] * t.shape[1] * 40 * 2));
     },
     {kExpert + ".trellis", "half-integer"}},
    {"both markers",
     [](auto& e) { e.tensors[kExpert + ".mcg"] = e.tensors[kExpert + ".mul1"]; },
     {kExpert + ".mcg", kExpert + ".mul1"}},
    {"marker value", [](auto& e) { e.tensors[kExpert + ".mul1"].bytes[0] ^= 1; }, {kExpert + ".mul1", "2212286765"}},
    {"marker size",
     [](auto& e) {
       e.tensors[kExpert + ".mul1"].shape = {2};
       e.tensors[kExpert + ".mul1"].bytes.resize(8);
     },
     {kExpert + ".mul1", "expected I32 []"}},
    {"marker lost",
     [](auto& e) {
       e.tensors.erase(kExpert + ".mul1");
       e.storage = R"({"tensor_storage": {")" + kExpert + R"(": {"mul1_multiplier": 2212286765}}})";
     },
     {kExpert + ".mul1", "is missing", "quantization_config.json"}},
    {"all markers lost",
     [](auto& e) { std::erase_if(e.tensors, [](const auto& t) { return t.first.ends_with(".mul1"); }); },
     {"codebook is mul1", "lost"}},
    {"legacy scale",
     [](auto& e) {
       e.tensors[kExpert + ".scale"] = {"F32", {}, std::string(4, '\0')};
     },
     {kExpert + ".scale", "legacy"}},
    {"fp8",
     [](auto& e) {
       auto& t = e.tensors[kLowRank];
       t.dtype = "F8_E4M3";
       t.bytes.resize(t.bytes.size() / 2);
       e.tensors["model.language_model.layers.0.self_attn.f_b_proj.weight_scale_inv"] = {
           "F32", {2, 1}, std::string(8, '\0')};
     },
     {kLowRank, "F8_E4M3", "not implemented"}},
    {"bias of an expert",
     [](auto& e) {
       e.tensors[kExpert + ".bias"] = {"F32", {128}, std::string(512, '\0')};
     },
     {kExpert + ".bias", "not implemented"}},
    {"no number",
     [](auto& e) {
       auto& t = e.tensors["model.language_model.layers.0.hc_attn_base"];
       t.bytes[4 * 3 + 2] = t.bytes[4 * 3 + 3] = '\x7F';
       t.bytes[4 * 3 + 2] = '\xC0';
     },
     {"hc_attn_base", "element 3", "no number"}},
    {"foreign model",
     [](auto& e) { e.config = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama"})"; },
     {"config.json", "model_type", "llama", "glm5_next"}},
    {"broken config", [](auto& e) { e.config = "{\"a\": "; }, {"config.json", "not valid JSON"}},
    {"config that does not fit",
     [](auto& e) {
       auto config = nlohmann::json::parse(e.config);
       config["text_config"]["intermediate_size"] = 640;
       e.config = config.dump();
     },
     {"layers.0.mlp.gate_proj.trellis", "[16, 32, 64]", "expected [16, 40, 64]"}},
    {"a head that is not tied and not there",
     [](auto& e) {
       std::erase_if(e.tensors, [](const auto& tensor) { return tensor.first.starts_with("lm_head"); });
       auto config = nlohmann::json::parse(e.config);
       config["text_config"]["tie_word_embeddings"] = false;
       e.config = config.dump();
     },
     {"lm_head"}},
    {"no routed experts",
     [](auto& e) {
       auto config = nlohmann::json::parse(e.config);
       for (auto& word : config["text_config"]["mlp_layer_types"]) word = "dense";
       e.config = config.dump();
       for (auto& [name, tensor] : std::map(e.tensors)) {
         for (int i = 1; i < 8; ++i) {
           const std::string from = "layers.0.mlp.", to = "layers." + std::to_string(i) + ".mlp.";
           const size_t at = name.find(from);
           if (at == std::string::npos) continue;
           e.tensors[std::string(name).replace(at, from.size(), to)] = tensor;
         }
       }
     },
     {"mlp_layer_types", "sparse"}},
    {"index to a missing file",
     [](auto& e) { e.weight_map = R"({"weight_map": {"a": "model-00007.safetensors"}})"; },
     {"model-00007.safetensors", "does not exist", "a"}},
    {"index to a file without the tensor",
     [](auto& e) { e.weight_map = R"({"weight_map": {"who.weight": "model.safetensors"}})"; },
     {"model.safetensors", "who.weight", "index"}},
    {"index that leaves the directory",
     [](auto& e) { e.weight_map = R"({"weight_map": {"a": "../model.safetensors"}})"; },
     {"weight_map", "../model.safetensors", "same directory"}},
    {"index with an absolute path",
     [](auto& e) { e.weight_map = R"({"weight_map": {"a": "/etc/passwd"}})"; },
     {"weight_map", "/etc/passwd", "same directory"}},
    {"index without a map",
     [](auto& e) { e.weight_map = "{}"; },
     {"index.json", "weight_map is missing", "fetch the checkpoint again"}},
};

TEST(BadCheckpoint, EachIsRefusedByName) {
  const CheckpointEditor good(kTiny);
  for (const EditCase& c : kCases) {
    SCOPED_TRACE(c.name);
    CheckpointEditor edited = good;
    c.edit(edited);
    TempDir directory;
    edited.Write(directory.path());
    ExpectAll(Refusal(directory.path()), c.parts);
  }
}

TEST(BadCheckpoint, TheEditorsOwnOutputLoads) {
  TempDir directory;
  CheckpointEditor(kTiny).Write(directory.path());
  EXPECT_EQ(Refusal(directory.path()), "");
}

TEST(BadCheckpoint, TruncatedShard) {
  TempDir directory;
  CopyTiny(directory.path());
  const std::string shard = directory / "model-00002-of-00002.safetensors";
  const auto size = fs::file_size(shard);
  for (uintmax_t left : {size - 1, size / 2, uintmax_t{100}, uintmax_t{7}, uintmax_t{0}}) {
    fs::resize_file(shard, left);
    ExpectAll(Refusal(directory.path()), {shard});
  }
}

TEST(BadCheckpoint, GitLfsPointerInPlaceOfAShard) {
  TempDir directory;
  CopyTiny(directory.path());
  const std::string shard = directory / "model-00002-of-00002.safetensors";
  WriteFile(shard, "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789abcdef\nsize 4038128\n");
  ExpectAll(Refusal(directory.path()), {shard, "Git LFS pointer", "git lfs pull"});
}

TEST(BadCheckpoint, EmptyFilesAreNotAbsentOnes) {
  for (const char* name :
       {"config.json", "generation_config.json", "quantization_config.json", "model.safetensors.index.json"}) {
    TempDir directory;
    CopyTiny(directory.path());
    WriteFile(directory / name, "");
    ExpectAll(Refusal(directory.path()), {directory / name, "not valid JSON", "fetch the checkpoint again"});
  }
}

// Root reads every file: this process is nobody for as long as the object lives.
class WithoutRootsRights {
 public:
  WithoutRootsRights() : root_(::geteuid() == 0) {
    if (root_) {
      EXPECT_EQ(::seteuid(65534), 0);
    }
  }
  ~WithoutRootsRights() {
    if (root_) {
      EXPECT_EQ(::seteuid(0), 0);
    }
  }

 private:
  const bool root_;
};

TEST(BadCheckpoint, UnreadableFilesNeedRightsAndNoDownload) {
  EXPECT_EQ(WhyNotOpened(EACCES), "cannot be opened: Permission denied; let the worker's user read it");
  EXPECT_NE(WhyNotOpened(ELOOP).find("fetch the checkpoint again"), std::string::npos);
  for (const char* name : {"config.json", "generation_config.json", "model-00001-of-00002.safetensors"}) {
    TempDir directory;
    CopyTiny(directory.path());
    fs::permissions(directory.path(), fs::perms(0755));
    fs::permissions(directory / name, fs::perms::none);
    const WithoutRootsRights nobody;
    ExpectAll(Refusal(directory.path()), {directory / name, "let the worker's user read it"});
  }
}

TEST(BadCheckpoint, MissingShardIndexAndDirectory) {
  TempDir directory;
  CopyTiny(directory.path());
  fs::remove(directory / "model-00002-of-00002.safetensors");
  ExpectAll(Refusal(directory.path()),
            {"model-00002-of-00002.safetensors", "does not exist", "fetch the checkpoint again"});
  fs::remove(directory / "model-00001-of-00002.safetensors");
  fs::remove(directory / "model.safetensors.index.json");
  ExpectAll(Refusal(directory.path()), {directory.path(), "no *.safetensors"});
  fs::remove(directory / "config.json");
  ExpectAll(Refusal(directory.path()), {"config.json", "does not exist"});
  ExpectAll(Refusal(directory / "nowhere"), {"nowhere/config.json", "does not exist"});
}

TEST(BadCheckpoint, StrayFilesOnlyAddNames) {
  TempDir directory;
  CopyTiny(directory.path());
  // A leftover with another final norm: the index wins, so the model is that of the index.
  WriteFile(directory / "zz-old.safetensors", testing::SafetensorsBytes({{kNorm, {"F32", {1}, std::string(4, '\0')}}}));
  EXPECT_EQ(Refusal(directory.path()), "");
  const Checkpoint checkpoint(directory.path());
  EXPECT_EQ(checkpoint.Find(kNorm)->shape, std::vector<int64_t>{256});

  WriteFile(directory / "zz-old.safetensors", "garbage");
  ExpectAll(Refusal(directory.path()), {"zz-old.safetensors"});
}

TEST(BadCheckpoint, NamesThatNobodyUsesAreReported) {
  TempDir directory, home;
  CheckpointEditor edited(kTiny);
  edited.tensors["model.language_model.layers.0.self_attn.rotary"] = {"F32", {1}, std::string(4, '\0')};
  edited.tensors["model.language_model.layers.8.enorm.weight"] = {"F32", {1}, std::string(4, '\0')};
  edited.Write(directory.path());
  LoadOptions options;
  options.home.home_dir = home.path();
  std::string warnings;
  options.log = [&](LogLevel level, const std::string& line) {
    if (level == LogLevel::kWarning) warnings += line;
  };
  LoadModel(directory.path(), options);
  EXPECT_NE(warnings.find("1 tensors are not used: model.language_model.layers.0.self_attn.rotary"), std::string::npos)
      << warnings;
}

}  // namespace
}  // namespace hearth

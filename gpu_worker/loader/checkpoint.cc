#include "gpu_worker/loader/checkpoint.h"

#include <dirent.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "common/parallel/parallel_for.h"
#include "gpu_worker/loader/fingerprint.h"
#include "gpu_worker/loader/small_file.h"

namespace hearth {
namespace {

constexpr char kIndexName[] = "model.safetensors.index.json";
constexpr uint64_t kMaxConfig = 16'000'000;
constexpr uint64_t kMaxIndex = 200'000'000;

Json ParseOrThrow(const std::string& text, const std::string& what) {
  Result<Json> parsed = ParseJson(text, what);
  if (!parsed.ok()) throw StartupError(parsed.status().message() + kFetchAgain);
  if (!parsed->is_object()) throw StartupError(what + ": is no JSON object" + std::string(kFetchAgain));
  return *std::move(parsed);
}

std::vector<std::string> ListSafetensors(const std::string& directory) {
  DIR* dir = ::opendir(directory.c_str());
  if (dir == nullptr) throw StartupError(directory + ": " + WhyNotOpened(errno));
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(dir)) {
    const std::string name = entry->d_name;
    if (name.ends_with(".safetensors") && name[0] != '.') names.push_back(name);
  }
  ::closedir(dir);
  std::sort(names.begin(), names.end());
  return names;
}

// A shard lies beside the index; anything that could name another place is an attack or a mistake.
bool PlainFileName(const std::string& name) {
  return !name.empty() && name.size() < 256 && name != "." && name != ".." &&
         name.find_first_of(std::string("/\\\0", 3)) == std::string::npos;
}

std::string TextOf(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace

Checkpoint::Checkpoint(const std::string& directory) : directory_(directory) {
  while (directory_.size() > 1 && directory_.back() == '/') directory_.pop_back();
  const std::string config_path = directory_ + "/config.json";
  auto config = ReadSmallFile(config_path, kMaxConfig);
  if (!config) throw StartupError(config_path + ": does not exist; -m needs the directory of a checkpoint");
  config_text_ = *std::move(config);
  const std::string generation_path = directory_ + "/generation_config.json";
  if (auto text = ReadSmallFile(generation_path, kMaxConfig)) {
    ParseOrThrow(*text, generation_path);  // an empty file is a damaged one, not an absent one
    generation_text_ = *std::move(text);
  }

  const Json top = ParseOrThrow(config_text_, config_path);
  if (const auto found = top.find("quantization_config"); found != top.end() && found->is_object()) {
    codebook_setting_ = TextOf(*found, "codebook");
  }
  const std::string storage_path = directory_ + "/quantization_config.json";
  if (const auto text = ReadSmallFile(storage_path, kMaxIndex)) {
    const Json storage = ParseOrThrow(*text, storage_path);
    if (codebook_setting_.empty()) codebook_setting_ = TextOf(storage, "codebook");
    const auto listed = storage.find("tensor_storage");
    if (listed != storage.end() && listed->is_object()) {
      for (const auto& [module, entry] : listed->items()) {
        if (entry.is_object() && entry.contains("mul1_multiplier")) declared_[module] = Codebook::kMul1;
        if (entry.is_object() && entry.contains("mcg_multiplier")) declared_[module] = Codebook::kMcg;
      }
    }
  }

  const std::string index_path = directory_ + "/" + kIndexName;
  const auto index_text = ReadSmallFile(index_path, kMaxIndex);
  Json weight_map = Json::object();
  if (index_text) {
    const Json index = ParseOrThrow(*index_text, index_path);
    const auto found = index.find("weight_map");
    if (found == index.end() || !found->is_object()) {
      throw StartupError(index_path + ": weight_map is missing" + kFetchAgain);
    }
    weight_map = *found;
  }

  const std::vector<std::string> present = ListSafetensors(directory_);
  std::set<std::string> names(present.begin(), present.end());
  for (const auto& [tensor, file] : weight_map.items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (!PlainFileName(name)) {
      throw StartupError(index_path + ": weight_map puts " + tensor + " into " + ShowJson(file) +
                         ", expected the name of a file in the same directory" + kFetchAgain);
    }
    if (!std::binary_search(present.begin(), present.end(), name)) {
      throw StartupError(directory_ + "/" + name + ": does not exist, but " + kIndexName + " puts " + tensor +
                         " into it" + kFetchAgain);
    }
  }
  if (names.empty()) throw StartupError(directory_ + ": has no *.safetensors file" + kFetchAgain);
  OpenFiles({names.begin(), names.end()});
  ApplyIndex(weight_map);
  AddStrayNames();
  CheckMarkers();

  hearth::Fingerprint fingerprint;
  fingerprint.Add(config_text_);
  fingerprint.Add(index_text.value_or(""));
  for (size_t i = 0; i < files_.size(); ++i) {
    fingerprint.Add(file_names_[i]);
    fingerprint.Add(files_[i]->bytes());
    fingerprint.Add(files_[i]->header());
    files_[i]->DropHeader();
  }
  fingerprint_ = fingerprint.Hex();
}

void Checkpoint::OpenFiles(const std::vector<std::string>& names) {
  file_names_ = names;
  files_.resize(names.size());
  ParallelFor(static_cast<int64_t>(names.size()), [&](int64_t index) {
    const auto i = static_cast<size_t>(index);
    files_[i] = std::make_unique<SafetensorsFile>(directory_ + "/" + names[i]);
    for (TensorInfo& tensor : files_[i]->tensors()) tensor.file = static_cast<uint32_t>(i);
  });
}

void Checkpoint::ApplyIndex(const Json& weight_map) {
  std::vector<std::unordered_map<std::string, const TensorInfo*>> by_name(files_.size());
  for (size_t i = 0; i < files_.size(); ++i) {
    for (const TensorInfo& tensor : files_[i]->tensors()) by_name[i][tensor.name] = &tensor;
  }
  for (const auto& [name, file] : weight_map.items()) {
    const auto at = std::lower_bound(file_names_.begin(), file_names_.end(), file.get_ref<const std::string&>());
    const auto& tensors = by_name[static_cast<size_t>(at - file_names_.begin())];
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      throw StartupError(directory_ + "/" + *at + ": tensor " + name + ": is not in the file, but " + kIndexName +
                         " puts it there" + kFetchAgain);
    }
    tensors_[name] = found->second;
  }
}

void Checkpoint::AddStrayNames() {
  for (const auto& file : files_) {
    for (const TensorInfo& tensor : file->tensors()) tensors_.emplace(tensor.name, &tensor);
  }
}

// Without its marker a matrix would decode to noise under the default codebook. When the converter says mul1 or mcg and
// no module at all has a marker, they were lost.
void Checkpoint::CheckMarkers() const {
  if (codebook_setting_ != "mul1" && codebook_setting_ != "mcg") return;
  const TensorInfo* quantized = nullptr;
  for (const auto& [name, tensor] : tensors_) {
    if (name.ends_with(".mul1") || name.ends_with(".mcg")) return;
    if (name.ends_with(".trellis")) quantized = tensor;
  }
  if (quantized == nullptr) return;
  throw StartupError(directory_ + ": the codebook is " + codebook_setting_ +
                     ", but no module has a marker tensor (for example " + quantized->name + "): they were lost" +
                     kFetchAgain);
}

std::vector<std::string> Checkpoint::Names() const {
  std::vector<std::string> names;
  names.reserve(tensors_.size());
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

const TensorInfo* Checkpoint::Find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : found->second;
}

void Checkpoint::Read(const TensorInfo& tensor, uint64_t begin, uint64_t bytes, void* dst) const {
  files_[tensor.file]->Read(tensor, begin, bytes, dst);
}

std::string Checkpoint::Place(const TensorInfo& tensor) const { return files_[tensor.file]->path(); }

std::optional<Codebook> Checkpoint::DeclaredCodebook(const std::string& module) const {
  const auto found = declared_.find(module);
  if (found == declared_.end()) return std::nullopt;
  return found->second;
}

}  // namespace hearth

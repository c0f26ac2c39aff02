#include "gpu_worker/loader/config_reader.h"

#include <cmath>

namespace hearth {
namespace {

// Whole numbers only, also when written as 5.0; nothing outside 64 bits.
bool AsInt(const Json& value, int64_t* out) {
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) return false;
  if (value.is_number_integer()) {
    *out = value.get<int64_t>();
    return true;
  }
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  if (!(std::fabs(number) < 9e15) || number != std::floor(number)) return false;
  *out = static_cast<int64_t>(number);
  return true;
}

}  // namespace

bool ConfigReader::Has(const std::string& key) const {
  const auto found = object_.find(key);
  return found != object_.end() && !found->is_null();
}

const Json* ConfigReader::Required(const std::string& key) {
  if (Has(key)) return &object_[key];
  Complain(key, " is missing");
  return nullptr;
}

int64_t ConfigReader::Int(const std::string& key, int64_t low, int64_t high) {
  const Json* value = Required(key);
  if (value == nullptr) return low;
  int64_t number = 0;
  if (AsInt(*value, &number) && number >= low && number <= high) return number;
  Complain(key, " is ", ShowJson(*value), ", expected a whole number from ", low, " to ", high);
  return low;
}

int64_t ConfigReader::Int(const std::string& key, int64_t low, int64_t high, int64_t missing) {
  return Has(key) ? Int(key, low, high) : missing;
}

double ConfigReader::Number(const std::string& key, double low, double high) {
  const Json* value = Required(key);
  if (value == nullptr) return high;
  if (value->is_number()) {
    const double number = value->get<double>();
    if (number > low && number <= high) return number;
  }
  Complain(key, " is ", ShowJson(*value), ", expected a number above ", low, " and up to ", high);
  return high;
}

double ConfigReader::Number(const std::string& key, double low, double high, double missing) {
  return Has(key) ? Number(key, low, high) : missing;
}

double ConfigReader::NumberFrom(const std::string& key, double low, double high, double missing) {
  if (!Has(key)) return missing;
  const Json& value = object_[key];
  if (value.is_number()) {
    const double number = value.get<double>();
    if (number >= low && number <= high) return number;
  }
  Complain(key, " is ", ShowJson(value), ", expected a number from ", low, " to ", high);
  return high;
}

std::vector<int> ConfigReader::Words(const std::string& key, size_t count, std::initializer_list<const char*> known) {
  std::vector<int> positions(count, 0);
  const Json* value = Required(key);
  if (value == nullptr) return positions;
  if (!value->is_array() || value->size() != count) {
    Complain(key, " has ", value->is_array() ? std::to_string(value->size()) : "no", " entries, expected ", count);
    return positions;
  }
  for (size_t i = 0; i < count; ++i) {
    int position = 0, found = -1;
    for (const char* word : known) {
      if ((*value)[i] == word) found = position;
      ++position;
    }
    if (found < 0) {
      std::string list;
      for (const char* word : known) list += (list.empty() ? "" : ", ") + std::string(word);
      Complain(key, "[", i, "] is ", ShowJson((*value)[i]), ", only ", list, " are implemented");
      return positions;
    }
    positions[i] = found;
  }
  return positions;
}

std::vector<int32_t> ConfigReader::Ids(const std::string& key, int64_t limit) {
  std::vector<int32_t> ids;
  if (!Has(key)) return ids;
  const Json& value = object_[key];
  const Json list = value.is_array() ? value : Json::array({value});
  if (list.size() > 64) Complain(key, " has ", list.size(), " entries, at most 64 are possible");
  if (!status_.ok()) return ids;
  for (const Json& entry : list) {
    int64_t id = 0;
    if (!AsInt(entry, &id) || id < 0 || id >= limit) {
      Complain(key, " is ", ShowJson(value), ", expected token ids below vocab_size, ", limit);
      return {};
    }
    ids.push_back(static_cast<int32_t>(id));
  }
  return ids;
}

void ConfigReader::Only(const std::string& key, const Json& wanted) {
  if (!Has(key) || object_[key] == wanted) return;
  Complain(key, " is ", ShowJson(object_[key]), ", only ", ShowJson(wanted), " is implemented");
}

}  // namespace hearth

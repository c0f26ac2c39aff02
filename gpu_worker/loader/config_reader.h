#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "gpu_worker/loader/json_text.h"

namespace hearth {

// Reads typed, bounded values out of one JSON object and keeps the first complaint, so that a parser reads straight
// down and asks once at the end. After a complaint every read gives a harmless value.
class ConfigReader {
 public:
  ConfigReader(const Json& object, std::string file) : object_(object), file_(std::move(file)) {}

  bool Has(const std::string& key) const;  // present and not null
  int64_t Int(const std::string& key, int64_t low, int64_t high);
  int64_t Int(const std::string& key, int64_t low, int64_t high, int64_t missing);
  // low < value <= high
  double Number(const std::string& key, double low, double high);
  double Number(const std::string& key, double low, double high, double missing);
  // low <= value <= high
  double NumberFrom(const std::string& key, double low, double high, double missing);
  // An array of `count` words out of `known`, as positions in it.
  std::vector<int> Words(const std::string& key, size_t count, std::initializer_list<const char*> known);
  // One id or a list of ids below `limit`; empty when the key is missing.
  std::vector<int32_t> Ids(const std::string& key, int64_t limit);
  // The key is missing, null or exactly `wanted`.
  void Only(const std::string& key, const Json& wanted);

  template <typename... Parts>
  void Complain(const Parts&... parts) {
    if (status_.ok()) status_ = InvalidArgument(file_, ": ", parts...);
  }
  const Status& status() const { return status_; }

 private:
  const Json* Required(const std::string& key);

  const Json& object_;
  std::string file_;
  Status status_;
};

}  // namespace hearth

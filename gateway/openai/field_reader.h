#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "common/base/status.h"

namespace hearth::openai {

using OrderedJson = nlohmann::ordered_json;

// Reads typed members of a JSON object. null counts as absent. The first mistake is kept as status(), with the member's
// name as its param, and everything read after it is absent.
class FieldReader {
 public:
  // `prefix` stands before the names in errors: "stream_options.". `object` outlives this.
  explicit FieldReader(const OrderedJson& object, std::string prefix = {})
      : object_(object), prefix_(std::move(prefix)) {}

  // The member, or null.
  const OrderedJson* Get(const std::string& name);
  std::optional<bool> Bool(const std::string& name);
  // Finite and low <= x <= high; with `above_low`, low < x.
  std::optional<double> Number(const std::string& name, double low, double high, bool above_low = false);
  // A whole number; 3.0 counts.
  std::optional<int64_t> Integer(const std::string& name, int64_t low, int64_t high);
  std::optional<std::string> String(const std::string& name);
  const OrderedJson* Object(const std::string& name);
  const OrderedJson* Array(const std::string& name);

  void Fail(const std::string& name, const std::string& what);
  void Fail(Status status);
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  std::string Path(const std::string& name) const { return prefix_ + name; }

 private:
  const OrderedJson& object_;
  const std::string prefix_;
  Status status_;
};

// A value for an error message: short JSON text.
std::string Shown(const OrderedJson& value);
// The whole number that a JSON value is, or nothing.
std::optional<int64_t> WholeNumber(const OrderedJson& value);

}  // namespace hearth::openai

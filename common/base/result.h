#pragma once

#include <optional>
#include <utility>

#include "common/base/check.h"
#include "common/base/status.h"

namespace hearth {

// A value, or the Status that says why there is none. Reading the value of a failed Result aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Status status) : status_(std::move(status)) { HEARTH_CHECK(!status_.ok(), "a Result without a value"); }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(value()); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

 private:
  T& value() {
    HEARTH_CHECK(ok(), status_.ToString());
    return *value_;
  }
  const T& value() const {
    HEARTH_CHECK(ok(), status_.ToString());
    return *value_;
  }

  std::optional<T> value_;
  Status status_;
};

}  // namespace hearth

#pragma once

#include <chrono>
#include <span>
#include <string>
#include <string_view>

#include "common/log/log_value.h"

namespace hearth {

// 2025-03-02T12:34:56.789Z
std::string FormatLogTime(std::chrono::system_clock::time_point time);

// Text as a field value: bare when it is one plain word, else in double quotes with \" \\ \n \r \t and \xNN for other
// control bytes. The result never holds a line break.
std::string QuoteLogText(std::string_view text);

// " key=value" for each field except the one named `without`.
std::string FormatLogFields(std::span<const LogField> fields, std::string_view without = {});

}  // namespace hearth

#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "common/log/log_value.h"

namespace hearth {

enum class LogLevel { kDebug, kInfo, kWarning, kError };

// Writes one event as one line on stderr: `time level process event key=value ...`. Thread-safe; lines never mix.
//   Log(LogLevel::kInfo, "loaded", {{"seconds", 1.2}, {"bytes", n}});
// Warnings and errors that repeat within 10 s (same event and fields, `request` aside) are printed once; their number
// follows as repeated=N with the next one printed, or at FlushLog().
void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {});

// Events below the level are dropped. kInfo at first.
void SetLogLevel(LogLevel level);
bool LogEnabled(LogLevel level);
// "debug", "info", "warning" or "error".
std::optional<LogLevel> ParseLogLevel(std::string_view text);

// The process part of each line: call it once, before threads start.
void SetLogProcess(std::string_view name);

// Writes the counts of collapsed events that are still held back; for the end of a process.
void FlushLog();

}  // namespace hearth

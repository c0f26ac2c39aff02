#include "common/log/log.h"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <string>

#include "common/log/log_line.h"
#include "common/log/repeat_filter.h"

namespace hearth {
namespace {

// Requests differ in their id only; the same trouble of many requests is one event.
constexpr std::string_view kRequestField = "request";

std::atomic<LogLevel> lowest_level{LogLevel::kInfo};

struct LogState {
  std::mutex mutex;
  std::string process = "hearth";
  RepeatFilter repeats;
};

// Never destroyed: threads may log while the process ends.
LogState& State() {
  static LogState* state = new LogState;
  return *state;
}

const char* LevelName(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kError:
      return "error";
  }
  return "unknown";
}

// One write per line keeps lines of several processes on one pipe apart. Nobody can be told when stderr is gone.
void WriteLine(const std::string& line) {
  for (size_t done = 0; done < line.size();) {
    const ssize_t count = ::write(STDERR_FILENO, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;
    done += static_cast<size_t>(count);
  }
}

void WriteEvent(const std::string& text) {
  WriteLine(FormatLogTime(std::chrono::system_clock::now()) + " " + text + "\n");
}

}  // namespace

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!LogEnabled(level)) return;
  const std::span<const LogField> all(fields.begin(), fields.size());
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  const std::string head = std::string(LevelName(level)) + " " + state.process + " " + std::string(event);
  std::string repeated;
  if (level >= LogLevel::kWarning) {
    const RepeatFilter::Time now = std::chrono::steady_clock::now();
    const std::string key = head + FormatLogFields(all, kRequestField);
    const RepeatFilter::Verdict verdict = state.repeats.See(key, now);
    for (const RepeatFilter::Held& held : state.repeats.TakeExpired(now)) {
      WriteEvent(held.key + " repeated=" + std::to_string(held.swallowed));
    }
    if (!verdict.print) return;
    if (verdict.swallowed > 0) repeated = " repeated=" + std::to_string(verdict.swallowed);
  }
  WriteEvent(head + FormatLogFields(all) + repeated);
}

void SetLogLevel(LogLevel level) { lowest_level.store(level, std::memory_order_relaxed); }

bool LogEnabled(LogLevel level) { return level >= lowest_level.load(std::memory_order_relaxed); }

std::optional<LogLevel> ParseLogLevel(std::string_view text) {
  for (LogLevel level : {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarning, LogLevel::kError}) {
    if (text == LevelName(level)) return level;
  }
  return std::nullopt;
}

void SetLogProcess(std::string_view name) {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  state.process = name;
}

void FlushLog() {
  LogState& state = State();
  const std::lock_guard lock(state.mutex);
  for (const RepeatFilter::Held& held : state.repeats.TakeAll()) {
    WriteEvent(held.key + " repeated=" + std::to_string(held.swallowed));
  }
}

}  // namespace hearth

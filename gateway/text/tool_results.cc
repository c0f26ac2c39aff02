#include "gateway/text/tool_results.h"

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "gateway/text/chat_tools.h"
#include "gateway/text/message_text.h"

namespace hearth::text {
namespace {

// One result: the text of `content` under the id that its sender gave.
struct Entry {
  const OrderedJson* content;  // null pointer: missing
  std::string id;              // empty: none
  std::string place;           // of the content, for errors
};

// The first item of a non-empty list, else a null pointer.
const OrderedJson* FirstItem(const OrderedJson* content) {
  return content && content->is_array() && !content->empty() ? &(*content)[0] : nullptr;
}

bool IsReferenceList(const OrderedJson* content) {
  const OrderedJson* first = FirstItem(content);
  const OrderedJson* type = first ? FindMember(*first, "type") : nullptr;
  return type && *type == "tool_reference";
}

bool IsListOfOutputs(const OrderedJson* content) {
  const OrderedJson* first = FirstItem(content);
  return first && FindMember(*first, "output");
}

std::string IdOf(const OrderedJson& object) {
  for (const char* key : {"tool_call_id", "id"}) {
    const OrderedJson* id = FindMember(object, key);
    if (IsTruthy(id)) return ScalarText(*id).value_or("");
  }
  return {};
}

std::vector<Entry> EntriesOf(const OrderedJson& messages, size_t begin, size_t end) {
  std::vector<Entry> entries;
  for (size_t i = begin; i < end; ++i) {
    const OrderedJson* content = FindMember(messages[i], "content");
    const std::string place = StrCat("messages[", i, "].content");
    if (!IsListOfOutputs(content)) {
      entries.push_back({content, IdOf(messages[i]), place});
      continue;
    }
    for (size_t k = 0; k < content->size(); ++k) {
      const OrderedJson& item = (*content)[k];
      entries.push_back({FindMember(item, "output"), IdOf(item), StrCat(place, "[", k, "].output")});
    }
  }
  return entries;
}

// The entries in the order of `calls`, or nothing when the ids do not tell.
std::optional<std::vector<Entry>> SortedByCalls(const std::vector<Entry>& entries, const OrderedJson* calls) {
  if (!IsTruthy(calls) || !calls->is_array()) return std::nullopt;
  std::unordered_map<std::string, const Entry*> by_id;
  for (const OrderedJson& call : *calls) {
    const std::string id = IdOf(call);
    if (id.empty() || !by_id.emplace(id, nullptr).second) return std::nullopt;
  }
  for (const Entry& entry : entries) {
    const auto it = by_id.find(entry.id);
    if (it == by_id.end() || it->second) return std::nullopt;
    it->second = &entry;
  }
  std::vector<Entry> sorted;
  for (const OrderedJson& call : *calls) {
    if (const Entry* entry = by_id[IdOf(call)]) sorted.push_back(*entry);
  }
  return sorted;
}

void RenderReferences(const OrderedJson& references, const OrderedJson& tools, PromptBuilder& out) {
  out.Markup("<tool_response><tools>\n");
  for (const OrderedJson& reference : references) {
    const OrderedJson* wanted = FindMember(reference, "name");
    if (!wanted || !tools.is_array()) continue;
    for (const OrderedJson& tool : tools) {
      const OrderedJson* name = FindMember(FunctionOf(tool), "name");
      if (!name || *name != *wanted) continue;
      out.Content(ToolText(FunctionOf(tool)));
      out.Markup("\n");
    }
  }
  out.Markup("</tools></tool_response>");
}

Status RenderEntry(const Entry& entry, const OrderedJson& tools, PromptBuilder& out) {
  if (IsReferenceList(entry.content)) {
    RenderReferences(*entry.content, tools, out);
    return Status::Ok();
  }
  out.Markup("<tool_response>");
  if (Status s = AppendVisibleText(entry.content, entry.place, out); !s.ok()) return s;
  out.Markup("</tool_response>");
  return Status::Ok();
}

}  // namespace

Status RenderToolResults(const OrderedJson& messages, size_t begin, size_t end, const OrderedJson& tools,
                         PromptBuilder& out) {
  out.Markup("<|observation|>");
  const OrderedJson* calls = nullptr;
  if (begin > 0) {
    const OrderedJson* role = FindMember(messages[begin - 1], "role");
    if (role && *role == "assistant") calls = FindMember(messages[begin - 1], "tool_calls");
  }
  std::vector<Entry> entries = EntriesOf(messages, begin, end);
  if (auto sorted = SortedByCalls(entries, calls)) entries = *std::move(sorted);
  for (const Entry& entry : entries) {
    if (Status s = RenderEntry(entry, tools, out); !s.ok()) return s;
  }
  return Status::Ok();
}

}  // namespace hearth::text

#include "gateway/openai/inner_fields.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "gateway/text/json_text.h"

namespace hearth::openai {
namespace {

using text::FindMember;

// Where something stands, with and without the indices of lists.
struct Place {
  std::string full, name;
  Place Member(std::string_view member) const { return {StrCat(full, ".", member), StrCat(name, ".", member)}; }
  Place Item(size_t index) const { return {StrCat(full, "[", index, "]"), name + "[]"}; }
};

class Finder {
 public:
  Finder(bool strict, std::vector<std::string>& unknown) : strict_(strict), unknown_(unknown) {}

  void Message(const OrderedJson& message, const Place& place) {
    const OrderedJson* role = FindMember(message, "role");
    if (role == nullptr) return;
    if (*role == "assistant") {
      Members(message, place,
              {"role", "content", "reasoning", "reasoning_content", "tool_calls", "function_call", "audio"});
    } else if (*role == "tool" || *role == "function") {
      Members(message, place, {"role", "content", "tool_call_id", "id", "tool_calls"});
    } else {
      Members(message, place, {"role", "content", "tool_calls"});
    }
    Each(message, "content", place, &Finder::Part);
    Each(message, "tool_calls", place, &Finder::Call);
  }

  // What a function itself has is part of the prompt.
  void Tool(const OrderedJson& tool, const Place& place) { Members(tool, place, {"type", "function"}); }

  void Each(const OrderedJson& object, const char* member, const Place& place,
            void (Finder::*visit)(const OrderedJson&, const Place&)) {
    const OrderedJson* list = FindMember(object, member);
    if (list == nullptr || !list->is_array()) return;
    const Place of_list = place.full.empty() ? Place{member, member} : place.Member(member);
    for (size_t i = 0; i < list->size() && status_.ok(); ++i) (this->*visit)((*list)[i], of_list.Item(i));
  }

  const Status& status() const { return status_; }

 private:
  void Part(const OrderedJson& part, const Place& place) {
    const OrderedJson* type = FindMember(part, "type");
    if (type != nullptr && *type == "text") Members(part, place, {"type", "text"});
    if (type != nullptr && *type == "tool_reference") Members(part, place, {"type", "name"});
  }

  void Call(const OrderedJson& call, const Place& place) {
    Members(call, place, {"id", "type", "function"});
    const OrderedJson* function = FindMember(call, "function");
    if (function != nullptr) Members(*function, place.Member("function"), {"name", "arguments"});
  }

  void Members(const OrderedJson& object, const Place& place, std::initializer_list<std::string_view> known) {
    if (!object.is_object()) return;
    for (const auto& [member, value] : object.items()) {
      if (value.is_null() || std::find(known.begin(), known.end(), member) != known.end()) continue;
      const Place here = place.Member(member);
      if (strict_ && status_.ok()) status_ = InvalidArgument(here.full, " is not used here").WithParam(here.full);
      const bool listed = std::find(unknown_.begin(), unknown_.end(), here.name) != unknown_.end();
      if (!listed && unknown_.size() < kMostListed) unknown_.push_back(here.name);
    }
  }

  static constexpr size_t kMostListed = 64;  // more than an answer lists

  const bool strict_;
  std::vector<std::string>& unknown_;
  Status status_;
};

}  // namespace

Status CheckInnerFields(const OrderedJson& body, bool strict, std::vector<std::string>& unknown) {
  Finder finder(strict, unknown);
  finder.Each(body, "messages", {}, &Finder::Message);
  finder.Each(body, "tools", {}, &Finder::Tool);
  return finder.status();
}

}  // namespace hearth::openai

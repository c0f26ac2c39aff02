#include "gateway/text/message_text.h"

namespace hearth::text {
namespace {

// What stands for a part of this type; empty for types that print nothing.
std::string_view Placeholder(const OrderedJson& type) {
  if (type == "image" || type == "image_url") return "<|begin_of_image|><|image|><|end_of_image|>";
  if (type == "video" || type == "video_url") return "<|begin_of_video|><|video|><|end_of_video|>";
  if (type == "audio" || type == "audio_url" || type == "input_audio") return "<|begin_of_audio|><|end_of_audio|>";
  return {};
}

Status AppendPart(const OrderedJson& part, const std::string& place, PromptBuilder& out) {
  if (part.is_string()) {
    out.Content(part.get_ref<const std::string&>());
    return Status::Ok();
  }
  const OrderedJson* type = FindMember(part, "type");
  if (!type) return Status::Ok();
  if (*type != "text") {
    out.Markup(Placeholder(*type));
    return Status::Ok();
  }
  const OrderedJson* text = FindMember(part, "text");
  if (!text) return Status::Ok();
  const std::optional<std::string> printed = ScalarText(*text);
  if (!printed) return InvalidArgument(place, ".text is not a string").WithParam(place + ".text");
  out.Content(*printed);
  return Status::Ok();
}

}  // namespace

std::optional<std::string> ScalarText(const OrderedJson& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (IsNumber(value)) return JsonText(value);
  return std::nullopt;
}

Status AppendVisibleText(const OrderedJson* content, const std::string& place, PromptBuilder& out) {
  if (!content || content->is_null()) return Status::Ok();
  if (content->is_array()) {
    for (size_t i = 0; i < content->size(); ++i) {
      if (Status s = AppendPart((*content)[i], StrCat(place, "[", i, "]"), out); !s.ok()) return s;
    }
    return Status::Ok();
  }
  const std::optional<std::string> text = ScalarText(*content);
  if (!text) return InvalidArgument(place, " is an object, expected a string or a list of parts").WithParam(place);
  out.Content(*text);
  return Status::Ok();
}

bool IsTruthy(const OrderedJson* value) {
  if (!value || value->is_null()) return false;
  if (value->is_boolean()) return value->get<bool>();
  if (value->is_number()) return *value != 0;
  if (value->is_string()) return !value->get_ref<const std::string&>().empty();
  return value->is_binary() || !value->empty();
}

}  // namespace hearth::text

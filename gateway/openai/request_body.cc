#include "gateway/openai/request_body.h"

#include <set>
#include <vector>

#include "gateway/text/json_text.h"

namespace hearth::openai {
namespace {

// Looks for members given twice. Everything else about the text has been checked.
class DuplicateFinder : public nlohmann::json_sax<OrderedJson> {
 public:
  const std::string& found() const { return found_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool start_object(std::size_t) override {
    names_.emplace_back();
    return true;
  }
  bool end_object() override {
    names_.pop_back();
    return true;
  }
  bool key(string_t& name) override {
    if (names_.back().insert(name).second) return true;
    found_ = name;
    return false;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  std::vector<std::set<std::string>> names_;
  std::string found_;
};

}  // namespace

Result<OrderedJson> ParseBody(std::string_view body) {
  Result<OrderedJson> parsed = text::ParseJsonKeepingNumbers(body);
  if (!parsed.ok()) return InvalidArgument("the body is not valid JSON: ", parsed.status().message());
  if (!parsed->is_object()) return InvalidArgument("the body must be a JSON object");
  DuplicateFinder finder;
  if (!OrderedJson::sax_parse(body, &finder) && !finder.found().empty()) {
    return InvalidArgument("the body gives the member \"", finder.found(), "\" twice").WithParam(finder.found());
  }
  return parsed;
}

bool IsJsonRequest(const http::HttpRequest& request) {
  std::string_view type = request.Header("Content-Type");
  type = type.substr(0, type.find(';'));
  while (type.ends_with(' ')) type.remove_suffix(1);
  if (http::EqualsIgnoreCase(type, "application/json") || http::EqualsIgnoreCase(type, "text/json")) return true;
  if (type.size() >= 10 && http::EqualsIgnoreCase(type.substr(0, 10), "multipart/")) return false;
  return request.Header("Origin").empty();
}

}  // namespace hearth::openai

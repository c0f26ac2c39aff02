#include <unordered_map>

#include "gateway/grammar/schema_compiler.h"
#include "gateway/text/utf8.h"

namespace hearth::grammar {

using text::FindMember;

namespace {

std::vector<uint32_t> CodePoints(const std::string& text) {
  std::vector<uint32_t> out;
  for (size_t at = 0; at < text.size();) {
    const text::CodePoint c = text::CodePointAt(text, at);
    out.push_back(c.value);
    at += c.bytes;
  }
  return out;
}

}  // namespace

std::vector<SchemaCompiler::Property> SchemaCompiler::Properties(const OrderedJson& schema, const std::string& path) {
  const OrderedJson *properties = FindMember(schema, "properties"), *required = FindMember(schema, "required");
  if (properties != nullptr && !properties->is_object()) Fail("properties", path, "must be an object");
  if (required != nullptr && !required->is_array()) Fail("required", path, "must be a list of names");
  for (const auto& [keyword, names] : {std::pair("properties", properties), std::pair("required", required)}) {
    if (names == nullptr || names->size() <= kMaxParts) continue;
    Fail(keyword, path, StrCat("has ", names->size(), " names, at most ", kMaxParts, " are offered"));
  }
  if (!status_.ok()) return {};
  std::vector<Property> out;
  std::unordered_map<std::string_view, size_t> known;  // index by name
  if (properties != nullptr) {
    for (const auto& [name, value] : properties->get_ref<const OrderedJson::object_t&>()) {
      known.emplace(name, out.size());
      out.push_back({name, &value, false, Below(path, "properties/" + name)});
    }
  }
  if (required == nullptr) return out;
  const OrderedJson* more = FindMember(schema, "additionalProperties");
  for (const OrderedJson& name : *required) {
    if (!name.is_string()) Fail("required", path, "must be a list of names");
    if (!status_.ok()) return {};
    const std::string& wanted = name.get_ref<const std::string&>();
    const auto [found, added] = known.try_emplace(wanted, out.size());
    if (!added) {
      out[found->second].required = true;
    } else if (more != nullptr && *more == false) {
      Fail("required", path, StrCat("names ", text::JsonText(name), ", which additionalProperties forbids"));
    } else {
      out.push_back({wanted, more, true, Below(path, "additionalProperties")});
    }
  }
  return out;
}

// A trie over the listed keys: wherever a key leaves it, or ends inside it, it is another one.
PieceRef SchemaCompiler::ForeignKey(const std::vector<Property>& known) {
  if (known.empty()) return rules_.String();
  const int32_t rule = builder_.Reserve("other key");
  const int32_t end = builder_.State(/*end=*/true), free = builder_.State(), root = builder_.State();
  builder_.Emit(Text("\""), builder_.Start(rule), root);
  // Other keys have only characters that need no escape.
  builder_.Emit(builder_.Class(rules_.Plain()), free, free);
  builder_.Emit(Text("\""), free, end);
  struct Node {
    int32_t state;
    std::map<uint32_t, size_t> next;
    bool listed = false;
  };
  std::vector<Node> nodes = {{root, {}, false}};
  for (const Property& property : known) {
    if (builder_.full()) break;
    size_t at = 0;
    for (const uint32_t c : CodePoints(property.name)) {
      size_t& next = nodes[at].next[c];
      if (next == 0) {
        next = nodes.size();
        at = next;
        nodes.push_back({builder_.State(), {}, false});
      } else {
        at = next;
      }
    }
    nodes[at].listed = true;
  }
  for (const Node& node : nodes) {
    if (builder_.full()) break;
    CodePointSet listed;
    for (const auto& [c, next] : node.next) {
      listed.Add(c, c);
      if (rules_.Plain().Contains(c)) builder_.Emit(Characters(CodePointSet({{c, c}})), node.state, nodes[next].state);
    }
    builder_.Emit(builder_.Class(rules_.Plain().Without(listed)), node.state, free);
    if (!node.listed) builder_.Emit(Text("\""), node.state, end);
  }
  return Rule(rule);
}

void SchemaCompiler::DefineObject(int32_t rule, const std::vector<Property>& properties,
                                  const PieceRef& foreign_member) {
  const int32_t open = builder_.State(), end = builder_.State(/*end=*/true);
  const PieceRef comma = Sequence({Text(","), rules_.Blank()});
  // `none`: no member has been written and the next one needs no comma; `some`: one has.
  int32_t none = builder_.State(), some = builder_.State();
  bool none_reachable = true, some_reachable = false;
  builder_.Emit(Text("{"), builder_.Start(rule), open);
  builder_.Emit(rules_.Blank(), open, none);
  for (const Property& property : properties) {
    const PieceRef value = property.schema == nullptr ? rules_.Value() : Compile(*property.schema, property.path);
    if (!status_.ok() || builder_.full()) return;
    PieceRef member = Sequence({Text(rules_.TextOf(OrderedJson(property.name)) + ":"), rules_.AfterColon(), value});
    if (none_reachable && some_reachable) member = Rule(builder_.Add("member", member));
    const int32_t next_none = builder_.State(), next_some = builder_.State();
    if (none_reachable) builder_.Emit(member, none, next_some);
    if (some_reachable) builder_.Emit(Sequence({comma, member}), some, next_some);
    if (!property.required) {
      if (none_reachable) builder_.Empty(none, next_none);
      if (some_reachable) builder_.Empty(some, next_some);
    }
    none_reachable = none_reachable && !property.required;
    some_reachable = true;
    none = next_none;
    some = next_some;
  }
  if (foreign_member) {
    const PieceRef member = Rule(builder_.Add("other member", foreign_member));
    if (none_reachable) builder_.Emit(member, none, some);
    builder_.Emit(Sequence({comma, member}), some, some);
  }
  builder_.Emit(Sequence({rules_.Blank(), Text("}")}), some, end);
  if (none_reachable) builder_.Emit(Text("}"), open, end);
}

PieceRef SchemaCompiler::Object(const OrderedJson& schema, const std::string& path) {
  const std::vector<Property> properties = Properties(schema, path);
  const OrderedJson* more = FindMember(schema, "additionalProperties");
  // Without a word about further members there are none, unless the schema lists no member at all.
  const bool open = more != nullptr ? *more != false : properties.empty();
  if (!status_.ok()) return Text("");
  if (properties.empty() && open && (more == nullptr || *more == true)) return rules_.Object();
  const int32_t rule = builder_.Reserve(StrCat("object at ", path));
  PieceRef foreign;
  if (open) {
    const PieceRef value = Compile(*more, Below(path, "additionalProperties"));
    foreign = Sequence({ForeignKey(properties), Text(":"), rules_.AfterColon(), value});
  }
  DefineObject(rule, properties, foreign);
  return Rule(rule);
}

PieceRef SchemaCompiler::Array(const OrderedJson& schema, const std::string& path) {
  std::vector<PieceRef> first;
  if (const OrderedJson* items = FindMember(schema, "prefixItems"); items != nullptr) {
    if (!items->is_array()) Fail("prefixItems", path, "must be a list");
    if (items->size() > kMaxItems) Fail("prefixItems", path, "is too long");
    for (size_t i = 0; i < items->size() && status_.ok(); ++i) {
      first.push_back(Compile((*items)[i], Below(path, StrCat("prefixItems/", i))));
    }
  }
  const std::optional<size_t> least = Count(schema, "minItems", kMaxItems, path);
  const std::optional<size_t> most = Count(schema, "maxItems", kMaxItems, path);
  if (most && *most < least.value_or(0)) Fail("maxItems", path, "is below minItems");
  const OrderedJson* items = FindMember(schema, "items");
  if (items != nullptr && items->is_array()) Fail("items", path, "as a list is not offered; use prefixItems");
  PieceRef rest;
  if (items == nullptr) {
    rest = rules_.Value();
  } else if (*items != false) {
    rest = Compile(*items, Below(path, "items"));
    if (rest->kind != Piece::Kind::kRule) rest = Rule(builder_.Add("item", rest));
  }
  if (!rest && least.value_or(0) > first.size()) Fail("minItems", path, "asks for more items than prefixItems has");
  if (!status_.ok()) return Text("");
  if (items == nullptr && first.empty() && !least && !most) return rules_.Array();
  const int32_t rule = builder_.Reserve(StrCat("list at ", path));
  rules_.DefineArray(rule, first, rest, least.value_or(0), most);
  return Rule(rule);
}

}  // namespace hearth::grammar

#include "gateway/grammar/schema_references.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace hearth::grammar {

const OrderedJson* SchemaReferences::Member(const OrderedJson& object, std::string_view name) {
  if (!object.is_object()) return nullptr;
  const auto [known, added] = members_.try_emplace(&object);
  if (added) {
    for (const auto& [key, value] : object.get_ref<const OrderedJson::object_t&>()) known->second.emplace(key, &value);
  }
  const auto found = known->second.find(name);
  return found == known->second.end() ? nullptr : found->second;
}

const OrderedJson* SchemaReferences::Find(std::string_view reference) {
  if (!reference.starts_with('#')) return nullptr;
  reference.remove_prefix(1);
  const OrderedJson* at = &root_;
  while (at != nullptr && !reference.empty()) {
    if (reference.front() != '/') return nullptr;
    reference.remove_prefix(1);
    const size_t end = std::min(reference.find('/'), reference.size());
    std::string name;
    for (size_t i = 0; i < end; ++i) {
      if (reference[i] != '~') {
        name += reference[i];
      } else {
        if (++i >= end || (reference[i] != '0' && reference[i] != '1')) return nullptr;
        name += reference[i] == '0' ? '~' : '/';
      }
    }
    reference.remove_prefix(end);
    if (at->is_array()) {
      size_t index = 0;
      const auto [last, error] = std::from_chars(name.data(), name.data() + name.size(), index);
      if (error != std::errc() || last != name.data() + name.size() || index >= at->size()) return nullptr;
      at = &(*at)[index];
    } else {
      at = Member(*at, name);
    }
  }
  return at;
}

}  // namespace hearth::grammar

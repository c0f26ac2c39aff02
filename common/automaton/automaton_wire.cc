#include "common/automaton/automaton.h"
#include "common/automaton/automaton_facts.h"

namespace hearth {
namespace {

// Little-endian, without padding:
//   "HAUT", u32 version, u32 rules, u32 states, u32 except
//   rule: i32 start, u8 length of the name, the name
//   state: u8 end, u32 edges, then each edge: u8 kind, u8 low, u8 high, i32 value, i32 target
//   except: i32 each
constexpr std::string_view kMagic = "HAUT";
constexpr size_t kMaxName = 255, kMaxExcept = 65536;
constexpr size_t kRuleBytes = 5, kStateBytes = 5, kEdgeBytes = 11, kExceptBytes = 4;  // at least

void Put8(std::string& out, uint8_t value) { out.push_back(static_cast<char>(value)); }

void Put32(std::string& out, uint32_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
}

void Put32(std::string& out, int32_t value) { Put32(out, static_cast<uint32_t>(value)); }

// Reads past the end give zeros and are remembered.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string_view Take(size_t count) {
    if (count > rest_.size()) {
      short_ = true;
      rest_ = {};
      return {};
    }
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  uint8_t U8() {
    const std::string_view bytes = Take(1);
    return bytes.empty() ? uint8_t{0} : static_cast<uint8_t>(bytes[0]);
  }
  uint32_t U32() {
    uint32_t value = 0;
    const std::string_view bytes = Take(4);
    for (size_t i = 0; i < bytes.size(); ++i) value |= uint32_t{static_cast<uint8_t>(bytes[i])} << (8 * i);
    return value;
  }
  int32_t I32() { return static_cast<int32_t>(U32()); }

  bool HasRoomFor(size_t count, size_t bytes_each) const { return count <= rest_.size() / bytes_each; }
  bool ran_short() const { return short_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool short_ = false;
};

Status Truncated() { return InvalidArgument("the automaton ends early"); }

Status TooMany(const char* what, size_t count, size_t most) {
  return InvalidArgument("the automaton has ", count, " ", what, ", at most ", most, " are allowed");
}

bool InRange(int32_t index, size_t count) { return index >= 0 && static_cast<size_t>(index) < count; }

Status CheckEdge(const Automaton& automaton, size_t state, const Automaton::Edge& edge) {
  using Kind = Automaton::Edge::Kind;
  if (!InRange(edge.target, automaton.states.size())) {
    return InvalidArgument("an edge of state ", state, " leads to state ", edge.target, ", which is not there");
  }
  if (edge.kind == Kind::kBytes && edge.low > edge.high) {
    return InvalidArgument("an edge of state ", state, " has an empty range of bytes");
  }
  if (edge.kind == Kind::kToken && edge.value < 0) {
    return InvalidArgument("an edge of state ", state, " reads token ", edge.value);
  }
  if (edge.kind == Kind::kCall && !InRange(edge.value, automaton.rules.size())) {
    return InvalidArgument("an edge of state ", state, " calls rule ", edge.value, ", which is not there");
  }
  return Status::Ok();
}

}  // namespace

Status Automaton::Check() const {
  if (rules.empty()) return InvalidArgument("the automaton has no rule");
  if (rules.size() > kMaxRules) return TooMany("rules", rules.size(), kMaxRules);
  if (states.size() > kMaxStates) return TooMany("states", states.size(), kMaxStates);
  if (except.size() > kMaxExcept) return TooMany("excepted tokens", except.size(), kMaxExcept);
  for (size_t i = 0; i < rules.size(); ++i) {
    if (!InRange(rules[i].start, states.size())) {
      return InvalidArgument("rule ", i, " starts at state ", rules[i].start, ", which is not there");
    }
  }
  size_t edges = 0;
  for (size_t i = 0; i < states.size(); ++i) {
    edges += states[i].edges.size();
    if (edges > kMaxEdges) return TooMany("edges", edges, kMaxEdges);
    for (const Edge& edge : states[i].edges) {
      if (Status status = CheckEdge(*this, i, edge); !status.ok()) return status;
    }
  }
  if (const std::optional<int32_t> state = LeftRecursion(*this)) {
    return InvalidArgument("state ", *state, " calls a rule that comes back to it before anything is read");
  }
  if (!ProductiveStates(*this)[static_cast<size_t>(rules[0].start)]) {
    return InvalidArgument("the automaton admits no text at all");
  }
  return Status::Ok();
}

std::string Automaton::Serialize() const {
  std::string out(kMagic);
  Put32(out, kVersion);
  Put32(out, static_cast<uint32_t>(rules.size()));
  Put32(out, static_cast<uint32_t>(states.size()));
  Put32(out, static_cast<uint32_t>(except.size()));
  for (const Rule& rule : rules) {
    const std::string_view name = std::string_view(rule.name).substr(0, kMaxName);
    Put32(out, rule.start);
    Put8(out, static_cast<uint8_t>(name.size()));
    out += name;
  }
  for (const State& state : states) {
    Put8(out, state.end ? 1 : 0);
    Put32(out, static_cast<uint32_t>(state.edges.size()));
    for (const Edge& edge : state.edges) {
      Put8(out, static_cast<uint8_t>(edge.kind));
      Put8(out, edge.low);
      Put8(out, edge.high);
      Put32(out, edge.value);
      Put32(out, edge.target);
    }
  }
  for (int32_t token : except) Put32(out, token);
  return out;
}

Result<Automaton> Automaton::Parse(std::string_view bytes) {
  Reader in(bytes);
  if (in.Take(kMagic.size()) != kMagic) return InvalidArgument("not an automaton");
  if (const uint32_t version = in.U32(); version != kVersion) {
    return InvalidArgument("the automaton has version ", version, ", expected ", kVersion);
  }
  const size_t rules = in.U32(), states = in.U32(), except = in.U32();
  // Bounds come before memory is taken.
  if (rules > kMaxRules) return TooMany("rules", rules, kMaxRules);
  if (states > kMaxStates) return TooMany("states", states, kMaxStates);
  if (except > kMaxExcept) return TooMany("excepted tokens", except, kMaxExcept);
  Automaton automaton;
  if (!in.HasRoomFor(rules, kRuleBytes)) return Truncated();
  automaton.rules.resize(rules);
  for (Rule& rule : automaton.rules) {
    rule.start = in.I32();
    rule.name = in.Take(in.U8());
  }
  if (!in.HasRoomFor(states, kStateBytes)) return Truncated();
  automaton.states.resize(states);
  for (State& state : automaton.states) {
    const uint8_t end = in.U8();
    if (end > 1) return InvalidArgument("a state's end mark is ", int{end});
    state.end = end == 1;
    const size_t edges = in.U32();
    if (edges > kMaxEdges) return TooMany("edges", edges, kMaxEdges);
    if (!in.HasRoomFor(edges, kEdgeBytes)) return Truncated();
    state.edges.resize(edges);
    for (Edge& edge : state.edges) {
      const uint8_t kind = in.U8();
      if (kind > static_cast<uint8_t>(Edge::Kind::kEmpty)) return InvalidArgument("an edge has kind ", int{kind});
      edge.kind = static_cast<Edge::Kind>(kind);
      edge.low = in.U8();
      edge.high = in.U8();
      edge.value = in.I32();
      edge.target = in.I32();
    }
  }
  if (!in.HasRoomFor(except, kExceptBytes)) return Truncated();
  for (size_t i = 0; i < except; ++i) automaton.except.push_back(in.I32());
  if (in.ran_short()) return Truncated();
  if (!in.at_end()) return InvalidArgument("the automaton has bytes after its end");
  if (Status status = automaton.Check(); !status.ok()) return status;
  return automaton;
}

}  // namespace hearth

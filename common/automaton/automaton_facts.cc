#include "common/automaton/automaton_facts.h"

#include <algorithm>

namespace hearth {
namespace {

using Kind = Automaton::Edge::Kind;

size_t Index(int32_t i) { return static_cast<size_t>(i); }

size_t CallStart(const Automaton& automaton, const Automaton::Edge& call) {
  return Index(automaton.rules[Index(call.value)].start);
}

// The least set of states that holds all ends, and every state with an edge whose target, and called start if it is a
// call, are in the set. With `reading` false, edges that read something do not count.
std::vector<bool> ReachesEnd(const Automaton& automaton, bool reading) {
  const size_t count = automaton.states.size();
  struct Reader {
    uint32_t from, edge;
  };
  std::vector<std::vector<Reader>> readers(count);  // edges that a state's membership can complete
  for (uint32_t from = 0; from < count; ++from) {
    const auto& edges = automaton.states[from].edges;
    for (uint32_t e = 0; e < edges.size(); ++e) {
      const Automaton::Edge& edge = edges[e];
      const bool reads = edge.kind != Kind::kCall && edge.kind != Kind::kEmpty;
      if (reads && !reading) continue;
      readers[Index(edge.target)].push_back({from, e});
      if (edge.kind == Kind::kCall) readers[CallStart(automaton, edge)].push_back({from, e});
    }
  }
  std::vector<bool> in(count);
  std::vector<size_t> work;
  for (size_t i = 0; i < count; ++i) {
    if (!automaton.states[i].end) continue;
    in[i] = true;
    work.push_back(i);
  }
  while (!work.empty()) {
    const size_t state = work.back();
    work.pop_back();
    for (const Reader& reader : readers[state]) {
      const Automaton::Edge& edge = automaton.states[reader.from].edges[reader.edge];
      if (in[reader.from] || !in[Index(edge.target)]) continue;
      if (edge.kind == Kind::kCall && !in[CallStart(automaton, edge)]) continue;
      in[reader.from] = true;
      work.push_back(reader.from);
    }
  }
  return in;
}

// Numbers the strongly connected components of a graph (Tarjan's way, with a stack of its own instead of recursion).
std::vector<int32_t> Components(const std::vector<std::vector<int32_t>>& graph) {
  const size_t count = graph.size();
  std::vector<int32_t> component(count, -1), number(count, -1), low(count, 0);
  std::vector<int32_t> open;
  struct Frame {
    int32_t node;
    size_t next;
  };
  std::vector<Frame> frames;
  int32_t numbers = 0, components = 0;
  const auto enter = [&](int32_t node) {
    number[Index(node)] = low[Index(node)] = numbers++;
    open.push_back(node);
    frames.push_back({node, 0});
  };
  for (size_t root = 0; root < count; ++root) {
    if (number[root] >= 0) continue;
    enter(static_cast<int32_t>(root));
    while (!frames.empty()) {
      Frame& frame = frames.back();
      const size_t node = Index(frame.node);
      if (frame.next < graph[node].size()) {
        const int32_t to = graph[node][frame.next++];
        if (number[Index(to)] < 0) {
          enter(to);
        } else if (component[Index(to)] < 0) {
          low[node] = std::min(low[node], number[Index(to)]);
        }
        continue;
      }
      if (low[node] == number[node]) {
        int32_t member;
        do {
          member = open.back();
          open.pop_back();
          component[Index(member)] = components;
        } while (Index(member) != node);
        ++components;
      }
      frames.pop_back();
      if (!frames.empty()) {
        const size_t parent = Index(frames.back().node);
        low[parent] = std::min(low[parent], low[node]);
      }
    }
  }
  return component;
}

}  // namespace

std::vector<bool> ProductiveStates(const Automaton& automaton) { return ReachesEnd(automaton, true); }

std::vector<bool> NullableStates(const Automaton& automaton) { return ReachesEnd(automaton, false); }

std::optional<int32_t> LeftRecursion(const Automaton& automaton) {
  // Steps that read nothing. Entering a rule is one of them; so is going on behind a rule that can read nothing. A
  // stack grows without end exactly where a cycle of such steps enters a rule.
  const std::vector<bool> nullable = NullableStates(automaton);
  std::vector<std::vector<int32_t>> graph(automaton.states.size());
  for (size_t from = 0; from < graph.size(); ++from) {
    for (const Automaton::Edge& edge : automaton.states[from].edges) {
      if (edge.kind == Kind::kEmpty) graph[from].push_back(edge.target);
      if (edge.kind != Kind::kCall) continue;
      const size_t start = CallStart(automaton, edge);
      graph[from].push_back(static_cast<int32_t>(start));
      if (nullable[start]) graph[from].push_back(edge.target);
    }
  }
  const std::vector<int32_t> component = Components(graph);
  for (size_t from = 0; from < graph.size(); ++from) {
    for (const Automaton::Edge& edge : automaton.states[from].edges) {
      if (edge.kind != Kind::kCall) continue;
      if (component[from] == component[CallStart(automaton, edge)]) return static_cast<int32_t>(from);
    }
  }
  return std::nullopt;
}

}  // namespace hearth

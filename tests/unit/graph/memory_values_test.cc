// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/symbol.h"
#include "tests/support/fuzz.h"
#include "tests/support/graph.h"
#include "tests/support/random_ir.h"

namespace tw::graph {
namespace {

using Numbers = std::vector<int64_t>;
using test::FuzzCases;
using test::Random;

// Memory is looked at in stretches of 16 bytes: rows of four floats.
constexpr int64_t kStretch = 16, kLine = 64;

// A planned graph, run with stretches of entries for values.
class Machine {
 public:
  explicit Machine(const Graph& graph)
      : index_(graph),
        shapes_(*graph.find<std::vector<Shape>>("shape")),
        views_(*graph.find<Numbers>("view")),
        inplace_(graph.find<std::vector<std::string>>("inplace")),
        storage_(*graph.find<Numbers>("storage_id")),
        offset_(index_.num_entries(), 0),
        content_(index_.num_entries()) {
    if (const auto* offsets = graph.find<Numbers>("storage_offset")) offset_ = *offsets;
  }

  // What went wrong, or nothing.
  std::string fault() {
    for (int64_t offset : offset_) {
      if (offset < 0 || offset % kLine != 0) return fmt::format("an entry at byte {}", offset);
    }
    for (size_t id = 0; id < index_.num_nodes(); ++id) {
      for (size_t input : inputs_of(id)) {
        if (!is_there(input)) return fmt::format("node {} reads what is overwritten", id);
      }
      std::string fault = views_[id] != 0 ? view(id) : compute(id);
      if (!fault.empty()) return fault;
    }
    for (const Entry& e : index_.outputs()) {
      if (!is_there(index_.entry_id(e))) return "an output is overwritten";
    }
    return "";
  }
  int num_views = 0, num_copies = 0;

 private:
  using Symbol = std::pair<size_t, int64_t>;  // an entry that was computed, and the stretch of it

  int64_t size(size_t e) const { return shapes_[e].elements() * 4 / kStretch; }
  std::pair<int64_t, int64_t> place(size_t e, int64_t i) const {
    return {storage_[e], offset_[e] / kStretch + i};
  }
  bool is_there(size_t e) {
    for (int64_t i = 0; i < size(e); ++i) {
      if (memory_[place(e, i)] != content_[e][static_cast<size_t>(i)]) return false;
    }
    return true;
  }
  bool overlap(size_t a, size_t b) const {
    return storage_[a] == storage_[b] && offset_[a] < offset_[b] + size(b) * kStretch &&
           offset_[b] < offset_[a] + size(a) * kStretch;
  }
  void write(size_t e) {
    for (int64_t i = 0; i < size(e); ++i)
      memory_[place(e, i)] = content_[e][static_cast<size_t>(i)];
  }
  std::vector<size_t> inputs_of(size_t id) const {
    std::vector<size_t> inputs;
    for (const Entry& e : index_.nodes()[id]->inputs) inputs.push_back(index_.entry_id(e));
    return inputs;
  }
  std::vector<size_t> outputs_of(size_t id) const {
    std::vector<size_t> outputs;
    for (size_t e = index_.first_entries()[id]; e < index_.first_entries()[id + 1]; ++e)
      outputs.push_back(e);
    return outputs;
  }

  std::string compute(size_t id) {
    const std::vector<size_t> inputs = inputs_of(id), outputs = outputs_of(id);
    for (size_t o = 0; o < outputs.size(); ++o) {
      const size_t e = outputs[o];
      for (size_t k = 0; k < inputs.size(); ++k) {
        if (!overlap(inputs[k], e)) continue;
        const std::string pair = fmt::format(" {}:{} ", k, o);
        const bool may = (" " + (*inplace_)[id] + " ").find(pair) != std::string::npos;
        if (!may || offset_[inputs[k]] != offset_[e] || size(inputs[k]) != size(e))
          return fmt::format("node {} overwrites its input {}", id, k);
      }
      for (size_t other = 0; other < o; ++other) {
        if (overlap(outputs[other], e)) return fmt::format("node {} writes twice", id);
      }
      if (index_.nodes()[id]->is_variable())
        variables_.insert(storage_[e]);
      else if (variables_.contains(storage_[e]))
        return fmt::format("node {} writes to a variable", id);
      for (int64_t i = 0; i < size(e); ++i) content_[e].emplace_back(e, i);
    }
    for (size_t e : outputs) write(e);
    return "";
  }

  std::string view(size_t id) {
    std::vector<Symbol> whole;
    for (size_t e : inputs_of(id))
      whole.insert(whole.end(), content_[e].begin(), content_[e].end());
    auto at = whole.begin();
    bool in_place = true;
    for (size_t e : outputs_of(id)) {
      content_[e].assign(at, at + size(e));
      at += size(e);
      in_place = in_place && is_there(e);
    }
    ++num_views;
    num_copies += in_place ? 0 : 1;
    if (in_place) return "";
    for (size_t e : outputs_of(id)) {
      for (size_t input : inputs_of(id)) {
        if (overlap(e, input)) return fmt::format("node {} copies what it overwrites", id);
      }
      if (variables_.contains(storage_[e])) return fmt::format("node {} writes to a variable", id);
      write(e);
    }
    return "";
  }

  GraphIndex index_;
  const std::vector<Shape>& shapes_;
  const Numbers& views_;
  const std::vector<std::string>* inplace_;
  const Numbers& storage_;
  Numbers offset_;
  std::vector<std::vector<Symbol>> content_;
  std::map<std::pair<int64_t, int64_t>, Symbol> memory_;
  std::set<int64_t> variables_;
};

// Nodes by what a plan needs of them: sizes, and whether they are views.
class Nodes {
 public:
  // Entries of so many lines of 64 bytes; rows of 16 where it is a fraction.
  Entry add(const std::vector<Entry>& inputs, const std::vector<double>& lines,
            bool is_view = false, const std::string& inplace = "") {
    Node node;
    node.name = fmt::format("n{}", count_++);
    if (!inputs.empty() && lines.size() == 1) {
      node.op = &get_op("elemwise_sum");
    } else if (!inputs.empty()) {
      node.op = &get_op("split");
      node.attributes.set("indices_or_sections", fmt::format("{}", lines.size()));
    }
    node.inputs = inputs;
    const NodeRef made = kept_.emplace_back(make_node(std::move(node)));
    std::vector<Shape>& shapes = shapes_[made.get()];
    for (double l : lines) shapes.push_back(Shape({static_cast<int64_t>(l * kLine / kStretch), 4}));
    views_[made.get()] = is_view ? 1 : 0;
    inplace_[made.get()] = inplace;
    return {made};
  }
  Entry variable(double lines) { return add({}, {lines}); }
  Entry view(const std::vector<Entry>& inputs) {
    double lines = 0;
    for (const Entry& e : inputs) lines += this->lines(e);
    return add(inputs, {lines}, true);
  }
  double lines(const Entry& e) const {
    return static_cast<double>(shapes_.at(e.node.get())[e.index].elements()) * 4 / kLine;
  }

  Graph planned(const std::vector<Entry>& outputs) const {
    Graph graph{.outputs = outputs};
    std::vector<Shape> shapes;
    Numbers types, views;
    std::vector<std::string> inplace;
    const GraphIndex index(graph);
    for (const NodeRef& node : index.nodes()) {
      const std::vector<Shape>& own = shapes_.at(node.get());
      shapes.insert(shapes.end(), own.begin(), own.end());
      views.push_back(views_.at(node.get()));
      inplace.push_back(inplace_.at(node.get()));
    }
    types.resize(shapes.size(), 0);
    graph.attributes["shape"] = std::move(shapes);
    graph.attributes["dtype"] = std::move(types);
    graph.attributes["view"] = std::move(views);
    graph.attributes["inplace"] = std::move(inplace);
    return apply(std::move(graph), "PlanMemory");
  }

 private:
  int count_ = 0;
  std::vector<NodeRef> kept_;  // so that no two have one address
  std::map<const Node*, std::vector<Shape>> shapes_;
  std::map<const Node*, int64_t> views_;
  std::map<const Node*, std::string> inplace_;
};

// How many views of a plan without a fault are copies.
int copies_of(const Graph& graph) {
  Machine machine(graph);
  EXPECT_EQ(machine.fault(), "") << to_text(graph);
  return machine.num_copies;
}

TEST(MemoryValues, PartsAreComputedWhereTheyAreInTheWhole) {
  Nodes n;
  const Entry x = n.variable(1), a = n.add({x}, {2}), b = n.add({x}, {1}), c = n.add({x}, {3});
  const Graph graph = n.planned({n.add({n.view({a, b, c})}, {1})});
  EXPECT_EQ(copies_of(graph), 0);
  EXPECT_EQ(*graph.find<Numbers>("storage_offset"), (Numbers{0, 0, 128, 192, 0, 0}));
  EXPECT_EQ(*graph.find<int64_t>("planned_bytes"), 7 * kLine);
}

TEST(MemoryValues, WholesThatGrowAreOnePieceOfMemory) {
  // A layer reads all before it: as a whole that is joined again, and as a list that gets longer.
  for (bool nested : {true, false}) {
    Nodes n;
    const Entry x = n.variable(1);
    std::vector<Entry> parts = {n.add({x}, {2})};
    Entry whole = parts[0];
    for (int layer = 0; layer < 5; ++layer) {
      parts.push_back(n.add({whole}, {1}));
      whole = nested ? n.view({whole, parts.back()}) : n.view(parts);
    }
    const Graph graph = n.planned({n.add({whole}, {1})});
    EXPECT_EQ(copies_of(graph), 0);
    EXPECT_EQ(*graph.find<int64_t>("planned_bytes"), 8 * kLine);
  }
}

TEST(MemoryValues, WhatCannotLieThereIsCopied) {
  Nodes n;
  const Entry x = n.variable(1), a = n.add({x}, {2}), b = n.add({x}, {1}), c = n.add({x}, {1}),
              odd = n.add({x}, {1.25});
  const auto copies = [&](const std::vector<Entry>& views) {
    std::vector<Entry> outputs;
    for (const Entry& v : views) outputs.push_back(n.add({v}, {1}));
    return copies_of(n.planned(outputs));
  };
  EXPECT_EQ(copies({n.view({a, b})}), 0);
  EXPECT_EQ(copies({n.view({a, a})}), 1);                  // twice
  EXPECT_EQ(copies({n.view({a, x})}), 1);                  // the caller's memory
  EXPECT_EQ(copies({n.view({a, b}), n.view({a, c})}), 1);  // two things in one place
  EXPECT_EQ(copies({n.view({a, b}), n.view({b, a})}), 1);  // in another order
  EXPECT_EQ(copies({n.view({a, b}), n.view({c, a})}), 0);  // c, a, b
  EXPECT_EQ(copies({n.view({a, odd})}), 0);
  EXPECT_EQ(copies({n.view({odd, a})}), 1);  // at byte 80
  // The whole is the graph's output, and then a part.
  EXPECT_EQ(copies_of(n.planned({n.view({a, b})})), 0);
  EXPECT_EQ(copies_of(n.planned({n.view({a, b}), b})), 1);
}

TEST(MemoryValues, PartsOfAWholeLieInIt) {
  Nodes n;
  const Entry x = n.variable(4), a = n.add({x}, {4});
  Entry halves = n.add({a}, {2, 2}, true);
  const Entry first = halves;
  halves.index = 1;
  const Graph graph = n.planned({n.add({n.view({first, halves})}, {1})});
  EXPECT_EQ(copies_of(graph), 0);
  EXPECT_EQ(*graph.find<Numbers>("storage_offset"), (Numbers{0, 0, 0, 128, 0, 0}));
  EXPECT_EQ(copies_of(n.planned({n.add({n.view({halves, first})}, {1})})), 1);
  const Entry of_input = n.add({x}, {2, 2}, true);
  EXPECT_EQ(copies_of(n.planned({n.add({of_input}, {1})})), 1);
}

// A part is not overwritten in place while the whole is read, and then it is.
TEST(MemoryValues, InPlaceOnceAllThatLiesThereWasRead) {
  for (bool read_later : {true, false}) {
    Nodes n;
    const Entry x = n.variable(1), a = n.add({x}, {1}), b = n.add({x}, {1}), whole = n.view({a, b});
    const Entry early = n.add({whole}, {3}), exp = n.add({early, a}, {1}, false, "1:0");
    const Entry last = read_later ? n.add({exp, whole}, {1}) : n.add({exp}, {1});
    const Graph graph = n.planned({last});
    EXPECT_EQ(copies_of(graph), 0);
    const GraphIndex index(graph);
    const Numbers& storage = *graph.find<Numbers>("storage_id");
    EXPECT_EQ(storage[index.entry_id(exp)] == storage[index.entry_id(a)], !read_later);
  }
}

TEST(MemoryValues, RandomViewsReadNothingThatIsOverwritten) {
  int views = 0, copies = 0;
  FuzzCases cases(1500, 1);
  while (cases.next()) {
    Random random(cases.seed());
    Nodes n;
    std::vector<Entry> entries = {n.variable(2), n.variable(3)};
    const auto pick = [&] {
      const auto size = static_cast<int64_t>(entries.size());
      const int64_t back = random.chance(70) ? std::min<int64_t>(size, 5) : size;
      return entries[static_cast<size_t>(size - random.between(1, back))];
    };
    for (int64_t k = random.between(2, 24); k > 0; --k) {
      const Entry e = pick();
      if (random.chance(25)) {
        std::vector<Entry> parts = {e};
        for (int64_t more = random.between(0, 2); more > 0; --more) parts.push_back(pick());
        entries.push_back(n.view(parts));
      } else if (random.chance(15) && n.lines(e) >= 2) {
        const double first = random.chance(80) ? 1 : 0.75;
        entries.push_back(n.add({e}, {first, n.lines(e) - first}, true));
        entries.push_back({entries.back().node, 1});
      } else {
        const double lines = random.chance(60)   ? n.lines(e)
                             : random.chance(90) ? static_cast<double>(random.between(0, 3))
                                                 : 1.25;
        const bool two = random.chance(30);
        entries.push_back(n.add(two ? std::vector{e, pick()} : std::vector{e}, {lines}, false,
                                random.chance(60) ? "0:0" : ""));
      }
    }
    std::vector<Entry> outputs;
    for (int64_t k = random.between(1, 3); k > 0; --k) outputs.push_back(pick());
    const Graph graph = n.planned(outputs);
    Machine machine(graph);
    ASSERT_EQ(machine.fault(), "") << "seed " << cases.seed() << "\n" << to_text(graph);
    views += machine.num_views;
    copies += machine.num_copies;
    ASSERT_LE(*graph.find<int64_t>("peak_bytes"), *graph.find<int64_t>("planned_bytes"));
  }
  // Many join what is in another order, twice, or the caller's; more copies say that it got worse.
  EXPECT_LT(copies * 100, views * 58);
}

}  // namespace
}  // namespace tw::graph

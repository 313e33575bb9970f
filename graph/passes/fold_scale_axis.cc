// SPDX-License-Identifier: Apache-2.0
// FoldScaleAxis: multiplications of whole tensors by a factor for each channel become
// multiplications of weights, which are precomputed.
//
//   backward:  %1 = conv2d(%x, %w)          →  %1 = broadcast_mul(%w, %factor along O)
//              %2 = broadcast_mul(%1, %f)      %2 = conv2d(%x, %1)
//   forward:   %1 = broadcast_mul(%x, %f)   →  %1 = broadcast_mul(%w, %factor along I)
//              %2 = conv2d(%1, %w)             %2 = conv2d(%x, %1)
//
// Between the two may be whatever has an equation for it (graph/scale.h): sums, pooling, and
// activations such as relu where no factor is below 0. Every reader of a tensor on the way must
// agree. Constants are factors too (`__mul_scalar__`), along no dimension in particular.
#include <algorithm>
#include <map>
#include <set>

#include "graph/op.h"
#include "graph/pass.h"
#include "graph/rewrite.h"

namespace tw::graph {
namespace {

using Kind = ScaledInput::Kind;

struct Factor {
  size_t data = 0;          // which input of the product it multiplies
  Entry values = {};        // as the product reads them; none: a constant
  std::string scalar = {};  // the constant
  size_t axis = 0;          // of the product's output
  bool non_negative = false;

  bool uniform() const { return !values.node; }
};

// A product that goes, and the inputs that are multiplied instead.
struct Fold {
  struct Multiplied {
    size_t node, input;
    ScaledInput how;
  };
  size_t product = 0;  // a node
  Factor factor;
  std::vector<Multiplied> multiplied = {};
};

// Whether values are 0 or more, whatever variables are, by their operator.
enum class Sign : uint8_t { Always, AsInputs, AsInputsAndScalar };
struct SignRow {
  std::string_view op;
  Sign sign;
};
constexpr SignRow kSigns[] = {
    {"exp", Sign::Always},
    {"sigmoid", Sign::Always},
    {"sqrt", Sign::Always},
    {"abs", Sign::Always},
    {"relu", Sign::Always},
    {"ones", Sign::Always},
    {"zeros", Sign::Always},
    {"ones_like", Sign::Always},
    {"zeros_like", Sign::Always},
    {"copy", Sign::AsInputs},
    {"expand_dims", Sign::AsInputs},
    {"squeeze", Sign::AsInputs},
    {"reshape", Sign::AsInputs},
    {"elemwise_add", Sign::AsInputs},
    {"elemwise_mul", Sign::AsInputs},
    {"elemwise_div", Sign::AsInputs},
    {"broadcast_add", Sign::AsInputs},
    {"broadcast_mul", Sign::AsInputs},
    {"broadcast_div", Sign::AsInputs},
    {"__add_scalar__", Sign::AsInputsAndScalar},
    {"__mul_scalar__", Sign::AsInputsAndScalar},
    {"__div_scalar__", Sign::AsInputsAndScalar},
    {"__rdiv_scalar__", Sign::AsInputsAndScalar},
};

double scalar_of(const Node& node) {
  return AttributeValues(node.op->attributes, node.attributes, node.name).real("scalar");
}

class Folding {
 public:
  explicit Folding(const Graph& graph)
      : index_(graph),
        shapes_(list_of<Shape>(graph, "shape", index_.num_entries())),
        written_(written_variables(index_.nodes())),
        readers_(index_.num_entries()),
        is_output_(index_.num_entries(), false),
        equations_(index_.num_nodes()),
        factors_(index_.num_nodes()) {
    for (uint32_t id = 0; id < index_.num_nodes(); ++id) {
      for (const Entry& e : index_.nodes()[id]->inputs) readers_[index_.entry_id(e)].push_back(id);
      learn(id);
    }
    for (const Entry& e : index_.outputs()) is_output_[index_.entry_id(e)] = true;
  }

  Graph run(const Graph& graph) {
    std::vector<std::vector<std::pair<const Fold*, const Fold::Multiplied*>>> changes(
        index_.num_nodes());
    std::vector<std::optional<Fold>> folds(index_.num_nodes());
    for (size_t id = 0; id < index_.num_nodes(); ++id) {
      folds[id] = fold_of(id);
      if (!folds[id]) continue;
      for (const Fold::Multiplied& m : folds[id]->multiplied) {
        changes[m.node].emplace_back(&*folds[id], &m);
      }
    }
    return rewrite(graph, [&](size_t id, const NodeRef& node) -> Replacement {
      if (folds[id]) return std::vector{node->inputs[folds[id]->factor.data]};
      if (changes[id].empty()) return std::nullopt;
      Node next = *node;
      for (const auto& [fold, m] : changes[id]) {
        Entry& input = next.inputs[m->input];
        const Shape& shape = shape_of(index_.nodes()[id]->inputs[m->input]);
        input = multiplied(input, shape, m->how, fold->factor,
                           fmt::format("{}_input{}_scaled", node->name, m->input));
      }
      return std::vector{Entry{make_node(std::move(next))}};
    });
  }

 private:
  const Shape& shape_of(const Entry& e) const { return shapes_[index_.entry_id(e)]; }
  const Shape& shape_of(size_t id) const { return shapes_[index_.first_entries()[id]]; }

  // What is known of a node by itself and those before it.
  void learn(uint32_t id) {
    const Node& node = *index_.nodes()[id];
    const size_t first = index_.first_entries()[id], end = index_.first_entries()[id + 1];
    bool known = end == first + 1 && shapes_[first].known();
    int64_t largest = 0;
    for (size_t e = first; e < end; ++e) {
      largest = std::max(largest, shapes_[e].known() ? shapes_[e].elements() : INT64_MAX);
    }
    // A product of what is written to would have to be computed before, or after.
    if (written_.contains(&node)) largest = INT64_MAX;
    std::vector<Shape> inputs;
    for (const Entry& e : node.inputs) {
      known = known && !written_.contains(e.node.get());
      largest = std::max(largest, largest_below_[index_.node_id(*e.node)]);
      inputs.push_back(shape_of(e));
      known = known && inputs.back().known();
    }
    largest_below_.push_back(largest);
    non_negative_.push_back(sign_of(node));
    if (known && !node.is_variable() && node.op->fold_scale) {
      equations_[id] = node.op->fold_scale(node, inputs, shape_of(id));
    }
    if (!equations_[id].empty()) factors_[id] = factor_of(id);
    // What a product is multiplied by stays what it is, so that all folds may be made at once.
    if (!factors_[id]) return;
    std::erase_if(equations_[id], [&](const ScaleEquation& e) {
      return e.inputs[factors_[id]->data].kind != Kind::Pass;
    });
  }

  bool sign_of(const Node& node) const {
    if (node.is_variable()) return false;
    const auto* row = std::ranges::find(kSigns, node.op->name, &SignRow::op);
    if (row == std::end(kSigns)) return false;
    if (row->sign == Sign::Always) return true;
    if (row->sign == Sign::AsInputsAndScalar && scalar_of(node) < 0) return false;
    return std::ranges::all_of(
        node.inputs, [&](const Entry& e) { return non_negative_[index_.node_id(*e.node)]; });
  }

  // What a node multiplies by, where it is a product.
  std::optional<Factor> factor_of(size_t id) const {
    const Node& node = *index_.nodes()[id];
    if (node.op->name == "__mul_scalar__") {
      return Factor{.scalar = *node.attributes.find("scalar"),
                    .non_negative = scalar_of(node) >= 0};
    }
    if (node.op->name != "broadcast_mul") return std::nullopt;
    const auto factor = factor_along(node, 0, shape_of(id));
    return factor ? factor : factor_along(node, 1, shape_of(id));
  }

  // The operand that is not the data, as a factor along one dimension of the output.
  std::optional<Factor> factor_along(const Node& product, size_t data, const Shape& shape) const {
    const Entry& values = product.inputs[1 - data];
    const Shape& own = shape_of(values);
    if (shape_of(product.inputs[data]) != shape || own.rank() == 0) return std::nullopt;
    size_t at = 0;  // of an only element the first dimension
    for (size_t d = 0; d < own.rank(); ++d) {
      if (own[d] != 1) at = d;
    }
    const size_t axis = at + shape.rank() - own.rank();
    const uint32_t id = index_.node_id(*values.node);
    // What is computed of larger tensors is no parameter: weights would be multiplied in each run.
    if (own.elements() != own[at] || own[at] != shape[axis] || own[at] == 0 ||
        largest_below_[id] > own.elements()) {
      return std::nullopt;
    }
    return Factor{.data = data, .values = values, .axis = axis, .non_negative = non_negative_[id]};
  }

  std::optional<Fold> fold_of(size_t id) const {
    if (!factors_[id]) return std::nullopt;
    Fold fold{.product = id, .factor = *factors_[id]};
    if (backward(fold)) return fold;
    fold.multiplied.clear();
    if (forward(fold)) return fold;
    return std::nullopt;
  }

  static bool allows(const ScaleEquation& equation, const Factor& factor) {
    return equation.any_sign || factor.non_negative;
  }

  void multiply(Fold& fold, size_t id, const ScaleEquation& equation) const {
    for (size_t k = 0; k < equation.inputs.size(); ++k) {
      if (equation.inputs[k].kind == Kind::Multiply) {
        fold.multiplied.push_back({id, k, equation.inputs[k]});
      }
    }
  }

  // Towards those who compute the data: all of them are asked for the product.
  bool backward(Fold& fold) const {
    struct Demand {
      size_t readers = 0, axis = 0;
    };
    std::map<size_t, Demand, std::greater<>> demands;  // by node: readers before what they read
    const auto ask = [&](const Entry& e, size_t axis) {
      Demand& demand = demands[index_.node_id(*e.node)];
      const bool agrees = demand.readers++ == 0 || demand.axis == axis || fold.factor.uniform();
      demand.axis = axis;
      return agrees;
    };
    if (!ask(index_.nodes()[fold.product]->inputs[fold.factor.data], fold.factor.axis))
      return false;
    while (!demands.empty()) {
      const auto [id, demand] = *demands.begin();
      demands.erase(demands.begin());
      const size_t entry = index_.first_entries()[id];
      if (is_output_[entry] || readers_[entry].size() != demand.readers) return false;
      const auto equation = std::ranges::find_if(equations_[id], [&](const ScaleEquation& e) {
        return e.output && (fold.factor.uniform() || *e.output == demand.axis) &&
               allows(e, fold.factor) && !passes_to_variable(id, e);
      });
      if (equation == equations_[id].end()) return false;
      multiply(fold, id, *equation);
      for (size_t k = 0; k < equation->inputs.size(); ++k) {
        const ScaledInput& input = equation->inputs[k];
        if (input.kind == Kind::Pass && !ask(index_.nodes()[id]->inputs[k], input.axis))
          return false;
      }
    }
    return true;
  }

  bool passes_to_variable(size_t id, const ScaleEquation& equation) const {
    for (size_t k = 0; k < equation.inputs.size(); ++k) {
      const bool passes = equation.inputs[k].kind == Kind::Pass;
      if (passes && index_.nodes()[id]->inputs[k].node->is_variable()) return true;
    }
    return false;
  }

  // Towards those who read the product: all of them are given the data.
  bool forward(Fold& fold) const {
    std::map<size_t, size_t> given;  // entries that lack the factor, and its axis
    std::set<uint32_t> readers;      // in order: what they read is decided before
    const auto give = [&](size_t id, size_t axis) {
      const size_t entry = index_.first_entries()[id];
      given[entry] = axis;
      readers.insert(readers_[entry].begin(), readers_[entry].end());
      return !is_output_[entry];
    };
    if (!give(fold.product, fold.factor.axis)) return false;
    while (!readers.empty()) {
      const uint32_t id = *readers.begin();
      readers.erase(readers.begin());
      const Node& node = *index_.nodes()[id];
      const auto takes = [&](const ScaleEquation& e) {
        bool fits = allows(e, fold.factor);
        for (size_t k = 0; fits && k < e.inputs.size(); ++k) {
          const ScaledInput& input = e.inputs[k];
          const auto axis = given.find(index_.entry_id(node.inputs[k]));
          fits = (input.kind == Kind::Pass) == (axis != given.end()) &&
                 (axis == given.end() || fold.factor.uniform() || axis->second == input.axis) &&
                 !(e.output && input.kind == Kind::Multiply);
        }
        return fits;
      };
      // One that multiplies weights ends the way.
      const auto& all = equations_[id];
      auto equation =
          std::ranges::find_if(all, [&](const auto& e) { return !e.output && takes(e); });
      if (equation == all.end()) equation = std::ranges::find_if(all, takes);
      if (equation == all.end()) return false;
      multiply(fold, id, *equation);
      if (equation->output && !give(id, *equation->output)) return false;
    }
    return true;
  }

  Entry multiplied(const Entry& input, const Shape& shape, const ScaledInput& how,
                   const Factor& factor, const std::string& name) const {
    if (factor.uniform()) {
      return make_call("__mul_scalar__", name, {input}, {{"scalar", factor.scalar}});
    }
    if (how.groups == 1) {
      return make_call("broadcast_mul", name,
                       {input, vector_along(factor, shape.rank(), how.axis, name)});
    }
    return multiplied_in_groups(input, shape, how, factor.values, name);
  }

  // Groups get a dimension of their own: (O, I / g, h, w) becomes (g, O / g, I / g, h, w), and is
  // multiplied by (g, 1, I / g, 1, 1).
  Entry multiplied_in_groups(const Entry& input, const Shape& shape, const ScaledInput& how,
                             const Entry& factor, const std::string& name) const {
    const int64_t each = shape_of(factor).elements() / how.groups;
    std::vector<int64_t> grouped = *shape.extents, along(shape.rank(), 1);
    grouped[how.group_axis] /= how.groups;
    along[how.axis] = each;
    const auto at = static_cast<ptrdiff_t>(how.group_axis);
    grouped.insert(grouped.begin() + at, how.groups);
    along.insert(along.begin() + at, how.groups);
    const auto reshaped = [&](std::string_view suffix, const Entry& e, const Shape& to) {
      return make_call("reshape", name + std::string(suffix), {e}, {{"shape", to_string(to)}});
    };
    Entry values = reshaped("_factor", factor, Shape({how.groups, each}));
    if (how.axis < how.group_axis) values = make_call("transpose", name + "_across", {values});
    const Entry product =
        make_call("broadcast_mul", name + "_in_groups",
                  {reshaped("_groups", input, grouped), reshaped("_along", values, along)});
    return reshaped("", product, shape);
  }

  // The factor's values, of a shape that is broadcast along one dimension of that rank.
  Entry vector_along(const Factor& factor, size_t rank, size_t axis,
                     const std::string& name) const {
    const Entry& values = factor.values;
    const Shape& own = shape_of(values);
    const size_t behind = rank - 1 - axis;
    if (own.rank() == behind + 1 && own[0] == own.elements()) return values;
    Entry vector = values;
    const bool expanded = values.node->op != nullptr && values.node->op->name == "expand_dims";
    if (expanded) vector = values.node->inputs[0];
    if (shape_of(vector).rank() != 1) {
      vector = make_call("reshape", name + "_vector", {values}, {{"shape", "(-1,)"}});
    }
    if (behind == 0) return vector;
    return make_call("expand_dims", name + "_expand", {vector},
                     {{"axis", "1"}, {"num_newaxis", fmt::format("{}", behind)}});
  }

  GraphIndex index_;
  const std::vector<Shape>& shapes_;
  std::set<const Node*> written_;
  std::vector<std::vector<uint32_t>> readers_;         // by entry, as often as they read it
  std::vector<bool> is_output_;                        // by entry
  std::vector<std::vector<ScaleEquation>> equations_;  // by node
  std::vector<std::optional<Factor>> factors_;         // of products, by node
  std::vector<int64_t> largest_below_;                 // elements of what a node is computed of
  std::vector<bool> non_negative_;                     // by node
};

}  // namespace

Graph fold_scale_axis(Graph graph) { return Folding(graph).run(graph); }

}  // namespace tw::graph

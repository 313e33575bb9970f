// SPDX-License-Identifier: Apache-2.0
#include "python/seams.h"

#include <fmt/format.h>
#include <pybind11/numpy.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <limits>
#include <random>
#include <tuple>

#include "autotune/measure/async_measurer.h"
#include "autotune/task/machine_kind.h"
#include "python/schedule.h"

namespace tw::python {
namespace {

using namespace tw::autotune;

// The tuner runs without the interpreter's lock, and lets go of its parts without it.
using Held = std::shared_ptr<const py::object>;
Held hold(py::object object) {
  return {new py::object(std::move(object)), [](const py::object* held) {
            py::gil_scoped_acquire lock;
            delete held;
          }};
}

py::array_t<float> matrix(const std::vector<std::vector<float>>& rows, size_t columns) {
  py::array_t<float> result({rows.size(), columns});
  for (size_t r = 0; r < rows.size(); ++r) {
    std::copy(rows[r].begin(), rows[r].end(), result.mutable_data(r, 0));
  }
  return result;
}

// A row a candidate: the user's own columns where there are any.
py::array_t<float> matrix(const std::vector<const Features*>& candidates) {
  std::vector<std::vector<float>> rows;
  for (const Features* f : candidates) {
    rows.push_back(f->own.empty() ? matrix_row(*f) : f->own);
  }
  return matrix(rows, rows.empty() ? 0 : rows[0].size());
}

class PythonModel : public CostModel {
 public:
  explicit PythonModel(Held model) : model_(std::move(model)) {
    has_base_ = model_->attr("has_base").cast<bool>();
  }

  void train(const std::vector<Sample>& samples) override {
    if (samples.empty()) return;
    py::gil_scoped_acquire lock;
    std::vector<const Features*> features;
    py::array_t<double> throughput(static_cast<py::ssize_t>(samples.size()));
    py::array_t<int> groups(static_cast<py::ssize_t>(samples.size()));
    for (size_t i = 0; i < samples.size(); ++i) {
      features.push_back(samples[i].features.get());
      throughput.mutable_at(i) = samples[i].throughput;
      groups.mutable_at(i) = samples[i].task;
    }
    model_->attr("fit")(matrix(features), throughput, groups);
    trained_ = true;
  }
  bool trained() const override { return trained_; }
  bool has_base() const override { return has_base_; }
  std::vector<double> predict(const std::vector<const Features*>& candidates) const override {
    py::gil_scoped_acquire lock;
    return model_->attr("predict")(matrix(candidates)).cast<std::vector<double>>();
  }
  Opinion opinion(const std::vector<const Features*>& candidates) const override {
    py::gil_scoped_acquire lock;
    using Scores = std::vector<double>;
    auto [score, deviation, base] =
        model_->attr("opinion")(matrix(candidates)).cast<std::tuple<Scores, Scores, Scores>>();
    return {std::move(score), std::move(deviation), std::move(base)};
  }

 private:
  Held model_;
  bool trained_ = false, has_base_ = false;
};

// A space as Python holds it: with its task and a source of random numbers.
struct PySpace {
  Task task;
  std::shared_ptr<const Space> space;
  std::mt19937_64 rng;

  Point point(size_t sketch, std::vector<size_t> choice) const {
    const auto& sketches = space->sketches();
    const auto refuse = [](const std::string& what, const std::string& legal) {
      raise({.code = ErrorCode::BadArgument, .what = what, .legal = legal});
    };
    if (sketch >= sketches.size()) {
      refuse(fmt::format("sketch {}", sketch), fmt::format("0 to {}", sketches.size() - 1));
    }
    const auto& knobs = sketches[sketch].knobs;
    if (choice.size() != knobs.size()) {
      refuse(fmt::format("{} choices for sketch {}", choice.size(), sketch),
             fmt::format("{}, one for each knob", knobs.size()));
    }
    for (size_t k = 0; k < knobs.size(); ++k) {
      if (choice[k] < knobs[k].size()) continue;
      refuse(fmt::format("choice {} of knob '{}'", choice[k], knobs[k].label),
             fmt::format("0 to {}", knobs[k].size() - 1));
    }
    return {.sketch = sketch, .choice = std::move(choice)};
  }
};

// What a policy asks about points while it proposes.
struct PyScores {
  const Proposer* proposer;
  const CostModel* model;  // null once the proposal is made

  py::array_t<double> scores(const std::vector<Point>& points) const {
    return values(ask(points), points, &Proposer::Scored::score,
                  -std::numeric_limits<double>::infinity());
  }

  // None where the model cannot tell.
  py::object uncertainty(const std::vector<Point>& points) const {
    const auto scored = ask(points);
    if (!std::ranges::all_of(scored, [](const auto& s) { return s.deviation.has_value(); })) {
      return py::none();
    }
    return values(scored, points, [](const auto& s) { return *s.deviation; }, 0);
  }

 private:
  std::vector<Proposer::Scored> ask(const std::vector<Point>& points) const {
    if (model == nullptr) {
      raise({.code = ErrorCode::BadArgument,
             .what = "a model was asked after propose returned",
             .legal = "asking inside propose"});
    }
    py::gil_scoped_release release;
    return proposer->score(points, *model);
  }

  // `otherwise` for points that the schedule refuses, which are missing in `scored`.
  static py::array_t<double> values(const std::vector<Proposer::Scored>& scored,
                                    const std::vector<Point>& points, const auto& value,
                                    double otherwise) {
    py::array_t<double> result(static_cast<py::ssize_t>(points.size()));
    size_t next = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      const bool legal = next < scored.size() && scored[next].point == points[i];
      result.mutable_at(i) = legal ? std::invoke(value, scored[next++]) : otherwise;
    }
    return result;
  }
};

class PythonPolicy : public SearchPolicy {
 public:
  PythonPolicy(const PolicyContext& context, const py::object& factory) : proposer_(context) {
    const PySpace space{context.task, std::make_shared<Space>(context.space),
                        std::mt19937_64(context.seed)};
    const auto budget = [asked = context.budget] { return asked ? asked() : Budget{}; };
    policy_ = hold(factory(context.task, space, context.seed, py::cpp_function(budget)));
  }

  std::vector<Proposal> propose(int count, const CostModel& model) override {
    // Points that are not legal, or known already, are no end of the space.
    constexpr int kAttempts = 50;
    std::vector<Proposal> result;
    for (int attempt = 0; attempt < kAttempts && result.empty(); ++attempt) {
      std::vector<Point> points = ask(count, model);
      if (points.empty()) break;
      result = proposer_.propose(std::move(points), model, Origin::Search);
    }
    return result;
  }
  void observe(const Point& point, double seconds) override {
    proposer_.mark_tried(point);
    py::gil_scoped_acquire lock;
    policy_->attr("observe")(point, seconds);
  }

 private:
  std::vector<Point> ask(int count, const CostModel& model) {
    py::gil_scoped_acquire lock;
    const auto scores = std::make_shared<PyScores>(PyScores{&proposer_, &model});
    struct Reset {
      PyScores& scores;
      ~Reset() { scores.model = nullptr; }
    } reset{*scores};
    return policy_->attr("propose")(count, scores).cast<std::vector<Point>>();
  }

  Proposer proposer_;
  Held policy_;
};

class PythonFeatures : public FeatureSet {
 public:
  explicit PythonFeatures(const py::object& given)
      : names_(given.attr("names").cast<std::vector<std::string>>()), given_(hold(given)) {}
  const std::vector<std::string>& names() const override { return names_; }
  std::vector<float> extract(const Task& task, const Trace& trace) const override {
    py::gil_scoped_acquire lock;
    return given_->attr("extract")(task, trace).cast<std::vector<float>>();
  }

 private:
  std::vector<std::string> names_;
  Held given_;
};

// What a rule of Python sees of a sketch in the making; of no use once the rule has returned.
struct PyContext {
  Builder* builder;

  Builder& get() const {
    if (builder == nullptr) {
      raise({.code = ErrorCode::BadArgument,
             .what = "the context of a sketch rule was used after the rule returned",
             .legal = "using it inside variants and apply"});
    }
    return *builder;
  }
  size_t number(size_t op) const {
    if (op < get().facts().size()) return op;
    raise({.code = ErrorCode::BadArgument,
           .what = fmt::format("operation {}", op),
           .legal = fmt::format("0 to {}", get().facts().size() - 1)});
  }
  PyStage stage(size_t op) const { return {get().schedule(), get().stage(number(op))}; }

  // (outer, inner); the inner extent is one of the choices.
  py::tuple split(const PyStage& stage, const IterVar& axis, const std::vector<int64_t>& choices,
                  const std::string& label) const {
    if (choices.empty()) {
      raise({.code = ErrorCode::BadArgument,
             .what = fmt::format("no choices for '{}'", axis.name()),
             .legal = "one extent or more"});
    }
    Knob knob{.kind = Knob::Kind::Tile,
              .label = label.empty() ? fmt::format("{}.{}", stage.stage.op().name(), axis.name())
                                     : label};
    for (const int64_t c : choices) knob.choices.push_back({c});
    knob.values = knob.choices;
    const Stage::Pair pair = get().split(knob, stage.stage, axis);
    get().add_knob(std::move(knob));
    return py::make_tuple(pair.outer, pair.inner);
  }
};

template <class Call>
auto with_context(Builder& builder, const Call& call) {
  py::gil_scoped_acquire lock;
  const auto context = std::make_shared<PyContext>(PyContext{&builder});
  struct Reset {
    PyContext& context;
    ~Reset() { context.builder = nullptr; }
  } reset{*context};
  return call(py::cast(context));
}

UserRule user_rule(const py::object& given) {
  const Held rule = hold(given);
  return {.name = given.attr("name").cast<std::string>(),
          .variants =
              [rule](const Builder& builder, size_t op) {
                // The context has no const half; rules are told not to schedule in `variants`.
                return with_context(const_cast<Builder&>(builder), [&](const py::object& context) {
                  return rule->attr("variants")(context, op).cast<int>();
                });
              },
          .apply =
              [rule](Builder& builder, size_t op, int variant) {
                with_context(builder, [&](const py::object& context) {
                  rule->attr("apply")(context, op, variant);
                });
              },
          .has_alternatives = given.attr("has_alternatives").cast<bool>()};
}

ErrorCode error_code(const std::string& text) {
#define ERROR_CODE(Name, Kind, Text) \
  if (text == Text) return ErrorCode::Name;
#include "runtime/error_codes.def"
#undef ERROR_CODE
  return ErrorCode::RunCrashed;
}

// Of a Measurement of Python.
Record measured(const py::handle& m) {
  Record r;
  r.seconds = m.attr("seconds").cast<std::vector<double>>();
  if (const auto error = m.attr("error").cast<std::string>(); !error.empty()) {
    r.error = error_code(error);
    r.seconds.clear();
  }
  r.message = m.attr("message").cast<std::string>();
  r.compile_seconds = m.attr("compile_seconds").cast<double>();
  r.ir_hash = m.attr("ir_hash").cast<std::string>();
  r.host = m.attr("host").cast<std::string>();
  r.kind = m.attr("kind").cast<std::string>();
  return r;
}

class PythonMeasurer : public Measurer {
 public:
  explicit PythonMeasurer(const py::object& given)
      : kind_(given.attr("kind").cast<std::string>()), given_(hold(given)) {}

  // All records are passed on, whatever is thrown on the way.
  std::vector<Record> measure(const Task& task, const std::vector<Candidate>& batch,
                              double best_seconds, const std::function<void(const Record&)>& done,
                              const std::function<bool()>&) override {
    std::vector<Record> records = ask(task, batch, best_seconds);
    std::exception_ptr first;
    for (size_t c = 0; c < records.size(); ++c) {
      Record& r = records[c];
      describe(r, task, batch[c]);
      timings_.compile_cpu += r.compile_seconds;
      try {
        if (done) done(r);
      } catch (...) {
        if (first == nullptr) first = std::current_exception();
      }
    }
    if (first != nullptr) std::rethrow_exception(first);
    return records;
  }
  const MeasureTimings& timings() const override { return timings_; }
  std::string kind() const override { return kind_; }

 private:
  std::vector<Record> ask(const Task& task, const std::vector<Candidate>& batch, double best) {
    py::gil_scoped_acquire lock;
    py::list traces;
    for (const Candidate& c : batch) traces.append(py::cast(c.trace));
    std::vector<Record> records;
    for (const py::handle m : given_->attr("measure")(task, traces, best)) {
      records.push_back(measured(m));
    }
    return records;
  }

  std::string kind_;
  Held given_;
  MeasureTimings timings_;
};

class PythonAsyncMeasurer : public AsyncMeasurer {
 public:
  explicit PythonAsyncMeasurer(const py::object& given) : given_(hold(given)) {}

  int capacity() override {
    py::gil_scoped_acquire lock;
    return given_->attr("capacity")().cast<int>();
  }
  void submit(int64_t ticket, const Task& task, const Candidate& candidate, double best) override {
    py::gil_scoped_acquire lock;
    given_->attr("submit")(ticket, task, candidate.trace, best);
  }
  std::vector<Answer> wait(double seconds) override {
    py::gil_scoped_acquire lock;
    std::vector<Answer> answers;
    for (const py::handle pair : given_->attr("wait")(seconds)) {
      const auto [ticket, measurement] = pair.cast<std::pair<int64_t, py::object>>();
      answers.push_back({ticket, measured(measurement)});
    }
    return answers;
  }
  void cancel() override {
    py::gil_scoped_acquire lock;
    given_->attr("cancel")();
  }
  std::string kind() const override {
    py::gil_scoped_acquire lock;
    return given_->attr("kind").cast<std::string>();
  }

 private:
  Held given_;
};

const char* knob_kind(Knob::Kind kind) {
  switch (kind) {
    case Knob::Kind::Tile:
      return "tile";
    case Knob::Kind::Unroll:
      return "unroll";
    case Knob::Kind::Location:
      return "location";
    case Knob::Kind::Store:
      return "store";
    case Knob::Kind::Fetch:
      return "fetch";
    case Knob::Kind::Parallel:
      return "parallel";
  }
  return "";
}

void bind_space(py::module_& m) {
  py::class_<Point>(m, "Point", "A point of a Space: a sketch, and a choice for each of its knobs.")
      .def_readonly("sketch", &Point::sketch)
      .def_property_readonly("choice", [](const Point& p) { return py::tuple(py::cast(p.choice)); })
      .def("__eq__", [](const Point& a, const Point& b) { return a == b; })
      .def("__hash__",
           [](const Point& p) {
             return py::hash(py::make_tuple(p.sketch, py::tuple(py::cast(p.choice))));
           })
      .def("__repr__", [](const Point& p) {
        return fmt::format("Point({}, {})", p.sketch,
                           std::string(py::str(py::tuple(py::cast(p.choice)))));
      });
  py::class_<Knob>(m, "Knob", "A place in a trace and the values that it may take.")
      .def_readonly("label", &Knob::label)
      .def_property_readonly("kind", [](const Knob& k) { return knob_kind(k.kind); })
      .def_readonly("choices", &Knob::choices)
      .def("__len__", &Knob::size);
  py::class_<Sketch>(m, "Sketch", "A trace with knobs.")
      .def_readonly("description", &Sketch::description)
      .def_readonly("knobs", &Sketch::knobs)
      .def_property_readonly("log_size", &Sketch::log_size, "log2 of the number of points.");
  py::class_<PySpace>(m, "Space", "The design space of a task.")
      .def(py::init([](const Task& task, uint64_t seed, const py::sequence& rules) {
             return PySpace{task, std::make_shared<Space>(task, user_rules(rules)),
                            std::mt19937_64(seed)};
           }),
           py::arg("task"), py::arg("seed") = 0, py::arg("rules") = py::tuple())
      .def_property_readonly("sketches", [](const PySpace& s) { return s.space->sketches(); })
      .def("point", &PySpace::point, py::arg("sketch"), py::arg("choice"))
      .def(
          "random", [](PySpace& s) { return s.space->random(s.rng); },
          "A point within the limits of register tiles and places.")
      .def(
          "mutate", [](PySpace& s, const Point& p) { return s.space->mutate(p, s.rng); },
          py::arg("point"), "One knob changed, more often to a near value than to a far one.")
      .def(
          "crossover",
          [](PySpace& s, const Point& a, const Point& b) {
            return a.sketch == b.sketch ? s.space->crossover(a, b, s.rng) : a;
          },
          py::arg("a"), py::arg("b"), "Knob by knob from either; `a` where sketches differ.")
      .def(
          "within_limits",
          [](const PySpace& s, const Point& p) { return s.space->within_limits(p); },
          py::arg("point"))
      .def(
          "trace", [](const PySpace& s, const Point& p) { return s.space->trace(p); },
          py::arg("point"))
      .def(
          "find", [](const PySpace& s, const Trace& trace) { return s.space->find(trace); },
          py::arg("trace"), "The point that gives this trace, or None.");
  py::class_<PyScores, std::shared_ptr<PyScores>>(
      m, "Scores", "What a policy asks of the model, inside propose.")
      .def("scores", &PyScores::scores, py::arg("points"),
           "An array of numbers, larger is better: the model's, or the prior's until the model is "
           "trained; -inf for a point that the schedule refuses.")
      .def("uncertainty", &PyScores::uncertainty, py::arg("points"),
           "An array of standard deviations of these scores, or None where the model cannot tell.");
  py::class_<Budget>(m, "Budget", "What is left of a run, over all its tasks.")
      .def_readonly("trials_left", &Budget::trials_left)
      .def_readonly("spent", &Budget::spent,
                    "Share of the trials or of the time, whichever is nearer to its end: 0 to 1.");
}

void bind_context(py::module_& m) {
  py::class_<OperationFacts>(m, "OperationFacts", "What sketch rules ask of an operation.")
      .def_property_readonly("op", [](const OperationFacts& f) { return wrap(f.op); })
      .def_property_readonly("name", [](const OperationFacts& f) { return f.op.name(); })
      .def_property_readonly("is_compute",
                             [](const OperationFacts& f) { return f.compute != nullptr; })
      .def_readonly("is_output", &OperationFacts::is_output)
      .def_readonly("is_reduction", &OperationFacts::is_reduction)
      .def_readonly("has_reuse", &OperationFacts::has_reuse)
      .def_readonly("has_condition", &OperationFacts::has_condition)
      .def_readonly("extents", &OperationFacts::extents)
      .def_readonly("reduce_extents", &OperationFacts::reduce_extents);
  py::class_<PyContext, std::shared_ptr<PyContext>>(m, "SketchContext",
                                                    "A sketch in the making, for a sketch rule.")
      .def_property_readonly("facts", [](const PyContext& c) { return c.get().facts(); })
      .def_property_readonly("target", [](const PyContext& c) { return c.get().target().text(); })
      .def("stage", &PyContext::stage, py::arg("op"), "The stage of an operation, by its number.")
      .def(
          "done", [](const PyContext& c, size_t op) { return c.get().done(c.number(op)); },
          py::arg("op"))
      .def("split", &PyContext::split, py::arg("stage"), py::arg("axis"), py::arg("choices"),
           py::arg("label") = "",
           "(outer, inner): a knob says which of the choices the inner extent is.")
      .def(
          "unroll",
          [](const PyContext& c, const PyStage& stage, const std::vector<IterVar>& axes) {
            c.get().add_unroll_knob(stage.stage, axes);
          },
          py::arg("stage"), py::arg("axes"),
          "A knob for how far loops below the axes are unrolled.")
      .def(
          "offer",
          [](const PyContext& c, size_t op, const PyStage& stage, const IterVar& axis) {
            c.get().add_attach_point(c.number(op), stage.stage, axis);
          },
          py::arg("op"), py::arg("stage"), py::arg("axis"),
          "A loop that producers may be computed in; the outer ones first.")
      .def(
          "place",
          [](const PyContext& c, size_t op, const PyStage& stage) {
            c.get().place(c.number(op), stage.stage);
          },
          py::arg("op"), py::arg("stage"),
          "Computes the stage inside a loop that its readers offer, or at the root, by a knob.");
}

// Rows of NaN for traces that cannot be applied: those of a version with other primitives.
py::array_t<float> features_of(const Task& task, const std::vector<std::string>& traces,
                               const py::object& own) {
  const auto set = feature_set(own);
  const size_t columns = set != nullptr ? set->names().size() : matrix_columns().size();
  std::vector<std::vector<float>> rows;
  for (const std::string& text : traces) {
    rows.emplace_back(columns, std::numeric_limits<float>::quiet_NaN());
    try {
      const Trace trace = parse_trace(text);
      py::gil_scoped_release release;
      const Features ours = extract_features(task, trace);
      rows.back() = set != nullptr ? set->extract(task, trace) : matrix_row(ours);
    } catch (const UserError&) {
      continue;
    }
  }
  return matrix(rows, columns);
}

py::list measure_here(LocalMeasurer& measurer, const Task& task,
                      const std::vector<std::string>& traces, double best_seconds) {
  std::vector<Record> records;
  {
    py::gil_scoped_release release;
    std::vector<Candidate> batch;
    for (const std::string& text : traces) batch.push_back({.trace = parse_trace(text)});
    records = measurer.measure(task, batch, best_seconds, {});
  }
  py::list result;
  for (Record& r : records) {
    r.host = host_name();
    r.kind = machine_kind();
    result.append(py::cast(std::move(r)));
  }
  return result;
}

}  // namespace

ModelFactory model_factory(const py::object& given) {
  if (py::isinstance<py::str>(given)) return cost_model(given.cast<std::string>());
  const Held factory = hold(given);
  return [factory](const ModelContext& c) -> std::unique_ptr<CostModel> {
    py::gil_scoped_acquire lock;
    return std::make_unique<PythonModel>(hold((*factory)(*c.task, c.seed)));
  };
}

PolicyFactory policy_factory(const py::object& given) {
  if (py::isinstance<py::str>(given)) return search_policy(given.cast<std::string>());
  const Held factory = hold(given);
  return [factory](const PolicyContext& c) -> std::unique_ptr<SearchPolicy> {
    py::gil_scoped_acquire lock;
    return std::make_unique<PythonPolicy>(c, *factory);
  };
}

std::shared_ptr<const FeatureSet> feature_set(const py::object& given) {
  if (given.is_none()) return nullptr;
  return std::make_shared<PythonFeatures>(given);
}

std::vector<UserRule> user_rules(const py::sequence& given) {
  const py::object checked =
      py::module_::import("tilewright.autotune.seams").attr("rules_of")(given);
  std::vector<UserRule> rules;
  for (const py::handle rule : checked) {
    rules.push_back(user_rule(py::reinterpret_borrow<py::object>(rule)));
  }
  return rules;
}

std::shared_ptr<Measurer> user_measurer(const py::object& given) {
  if (given.is_none()) return nullptr;
  if (py::hasattr(given, "submit")) return std::make_shared<PythonAsyncMeasurer>(given);
  return std::make_shared<PythonMeasurer>(given);
}

void bind_seams(py::module_& m) {
  bind_space(m);
  bind_context(m);
  const auto rows = [](const auto& table) {
    py::list names;
    for (const auto& row : table) {
      names.append(py::make_tuple(std::string(row.name), std::string(row.doc)));
    }
    return names;
  };
  m.def("cost_models", [rows] { return rows(cost_models()); }, "Rows of (name, documentation).");
  m.def(
      "search_policies", [rows] { return rows(search_policies()); },
      "Rows of (name, documentation).");
  m.def("feature_names", &matrix_columns,
        "Names of the columns that a model gets unless it has features of its own.");
  m.def("features_of", &features_of, py::arg("task"), py::arg("traces"),
        py::arg("own") = py::none());
  m.def(
      "make_task_of_text",
      [](const std::string& te_text, const std::string& target, int threads,
         const std::string& caches) {
        return make_task(te_text, Target::parse(target), threads, "", parse_cache_state(caches));
      },
      py::arg("te_text"), py::arg("target"), py::arg("threads"), py::arg("caches") = "hot");
  m.def("features_missing_here",
        [](const std::string& target) { return Target::parse(target).features_missing_on_host(); });
  m.def("machine_kind", &machine_kind, "Processor and instruction set of this machine.");
  m.def("same_kind", [](const std::string& a, const std::string& b) { return same_kind(a, b); });
  m.def("host_name", &host_name);
  py::class_<LocalMeasurer>(m, "LocalMeasurer", "Times candidates in processes of this machine.")
      .def(py::init([](int workers, double timeout, double run_budget, const std::string& path) {
             MeasureOptions o;
             o.workers = workers;
             o.compile_timeout = o.run_timeout = timeout;
             o.run_budget = run_budget;
             o.worker_path = path;
             return std::make_unique<LocalMeasurer>(o);
           }),
           py::arg("workers") = 0, py::arg("timeout") = 10.0, py::arg("run_budget") = 0.05,
           py::arg("worker_path") = "")
      .def("measure", &measure_here, py::arg("task"), py::arg("traces"),
           py::arg("best_seconds") = 0.0, "A Record for each trace.");
}

}  // namespace tw::python

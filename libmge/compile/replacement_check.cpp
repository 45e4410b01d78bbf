// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/replacement_check.h"

#include <algorithm>
#include <cmath>

#include "libmge/base/numbers/distance.h"
#include "libmge/compile/compilation.h"
#include "libmge/compile/plain.h"
#include "libmge/device/device.h"
#include "libmge/graph/halves.h"
#include "libmge/graph/origins.h"
#include "libmge/ops/shape/layout/reorder.h"
#include "libmge/passes/channel_order.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge {
namespace {

// Rounding differences between algorithms, relative to the largest magnitude of a value.
constexpr double f32_tolerance = 1e-4, half_tolerance = 1e-2;
// Smaller values are results of cancellation: intermediate values were larger.
constexpr double least_magnitude = 1e-2;

double tolerance_of(const CompileOptions& o) {
    bool stores_halves = o.switches.uses_half();
    return stores_halves || o.precision != Precision::strict ? half_tolerance : f32_tolerance;
}

bool is_other_float(DType dtype) { return is_float(dtype) && dtype != DType::f32; }

struct Difference {
    int64_t index;
    double got, expected;
};

template <class T>
double number(T value) {
    return double(ComputedAs<T>(value));
}

template <class T, class U>
std::optional<Difference> first_difference(const T* got, const U* expected, int64_t n, double tolerance) {
    double largest = least_magnitude;
    for (int64_t i = 0; i < n; ++i)
        if (double e = number(expected[i]); std::isfinite(e)) largest = std::max(largest, std::abs(e));
    for (int64_t i = 0; i < n; ++i)
        if (distance(number(got[i]), number(expected[i])) > tolerance * largest)
            return Difference{i, number(got[i]), number(expected[i])};
    return std::nullopt;
}

// Compares plain tensors of one shape.
std::optional<Difference> first_difference(const Tensor& got_there, const Tensor& expected_there,
                                           double tolerance) {
    Tensor got = to_host(got_there), expected = to_host(expected_there);
    if (is_other_float(got.dtype()) || is_other_float(expected.dtype()))
        tolerance = std::max(tolerance, half_tolerance);
    if (!is_float(expected.dtype())) tolerance = 0;
    std::optional<Difference> result;
    if (is_narrow(got.dtype()) || is_narrow(expected.dtype())) {
        // Narrow values are only moved and converted.
        auto *a = static_cast<const uint8_t*>(got.data()), *b = static_cast<const uint8_t*>(expected.data());
        return first_difference(a, b, got.spec().numel(), 0);
    }
    dispatch_dtype(got.dtype(), AllTypes{}, [&]<class T>(std::type_identity<T>) {
        dispatch_dtype(expected.dtype(), AllTypes{}, [&](auto u) {
            result = first_difference(got.data<T>(), expected.data<typename decltype(u)::type>(),
                                      got.spec().numel(), tolerance);
        });
    });
    return result;
}

// The sign of a NaN is irrelevant.
std::string number_text(double value) { return std::isnan(value) ? "nan" : text(value); }

CompileOptions without_passes(int threads) {
    CompileOptions options;
    options.level = 0;
    options.layout = "nchw";
    options.threads = threads;
    return options;
}

}  // namespace

ReplacementCheck::ReplacementCheck(Graph source, std::vector<PassStage> stages, const CompileOptions& options)
    : source_(std::move(source)),
      stages_(std::move(stages)),
      level_name_(named(options, "level")),
      threads_(options.threads),
      tolerance_(tolerance_of(options)),
      has_halves_(behind_halves(source_)) {
    note_origins(source_);
    for (size_t i = 0; i < source_.values().size(); ++i)
        for (auto& origin : source_.value(ValueId(i)).origins) by_origin_.try_emplace(origin, ValueId(i));
    std::map<ValueId, std::vector<std::string>> passes;
    auto before = descriptions(source_);
    for (auto& stage : stages_) {
        auto after = descriptions(stage.graph);
        for (auto& [value, description] : after) {
            auto it = before.find(value);
            if (it == before.end() || it->second != description) passes[value].push_back(stage.pass);
        }
        before = std::move(after);
    }
    note_values(passes);
    note_outputs();
    if (!replaced_.empty()) make_reference();
}

// A reorder has the source of its input.
ValueId ReplacementCheck::source_of(const Graph& graph, ValueId id) const {
    auto& value = graph.value(id);
    if (value.producer < 0) return no_value;
    for (auto& origin : value.origins)
        if (auto it = by_origin_.find(origin); it != by_origin_.end()) return it->second;
    auto& node = graph.node(value.producer);
    return node.op == &ops::Reorder::info ? source_of(graph, node.inputs[0]) : no_value;
}

// Describes how each value is computed, independently of the numbering of the graph.
std::map<ValueId, std::string> ReplacementCheck::descriptions(const Graph& graph) const {
    std::map<ValueId, std::string> result;
    std::map<ValueId, size_t> inputs;
    for (size_t i = 0; i < graph.inputs().size(); ++i) inputs[graph.inputs()[i]] = i;
    auto describe = [&](ValueId id) -> std::string {
        if (id == no_value) return " -";
        auto& value = graph.value(id);
        if (value.is_constant()) return text(" constant ", value.constant.address());
        if (value.is_input) return text(" input ", inputs[id]);
        ValueId source = source_of(graph, id);
        return source == no_value ? " new" : text(' ', source);
    };
    for (auto& node : graph.nodes()) {
        if (node.op == &ops::Reorder::info) continue;
        std::string description = text(node.op->name, params_text(node.op->fields, node.params.get()));
        for (ValueId id : node.inputs) description += describe(id);
        for (ValueId id : node.outputs)
            if (ValueId source = source_of(graph, id); source != no_value)
                result.try_emplace(source, text(description, ' ', graph.value(id).spec));
    }
    return result;
}

int ReplacementCheck::add(const Place& place, std::vector<std::string> passes) {
    places_.push_back(place);
    replaced_.push_back({value_label(source_, place.value), std::move(passes)});
    return int(replaced_.size()) - 1;
}

void ReplacementCheck::note_values(const std::map<ValueId, std::vector<std::string>>& passes) {
    std::map<ValueId, int> known;
    by_value_.assign(result().values().size(), -1);
    for (size_t i = 0; i < by_value_.size(); ++i) {
        auto it = passes.find(source_of(result(), ValueId(i)));
        if (it == passes.end()) continue;
        auto [entry, is_new] = known.try_emplace(it->first, 0);
        if (is_new) entry->second = add({it->first}, it->second);
        by_value_[i] = entry->second;
    }
}

double ReplacementCheck::tolerance(int index) const {
    bool has_halves = has_halves_[size_t(places_[size_t(index)].value)];
    return has_halves ? std::max(tolerance_, half_tolerance) : tolerance_;
}

Tensor ReplacementCheck::as_in_source(ValueId id, const Tensor& value) const {
    return in_source_order(result(), id, plain_on_host(value));
}

// Notes outputs that have become inputs or constants.
void ReplacementCheck::note_outputs() {
    for (size_t i = 0; i < source_.outputs().size(); ++i) {
        ValueId source = source_.outputs()[i], now = result().outputs()[i];
        if (source_.value(source).producer < 0 || result().value(now).producer >= 0 ||
            by_value_[size_t(now)] >= 0)
            continue;
        auto stage = std::find_if(stages_.begin(), stages_.end(),
                                  [&](auto& s) { return s.graph.value(s.graph.outputs()[i]).producer < 0; });
        by_value_[size_t(now)] = add({source, int(i)}, {stage->pass});
    }
}

void ReplacementCheck::make_reference() {
    Graph graph = source_;
    std::vector<ValueId> outputs;
    for (auto& place : places_) outputs.push_back(place.value);
    graph.set_outputs(std::move(outputs));
    reference_ = compile_placed(std::move(graph), without_passes(threads_));
}

ValueId ReplacementCheck::find(const Graph& graph, const Place& place) const {
    if (place.output >= 0) return graph.outputs()[size_t(place.output)];
    for (size_t i = 0; i < graph.values().size(); ++i)
        if (source_of(graph, ValueId(i)) == place.value) return ValueId(i);
    return no_value;
}

// Returns the first pass that changes the value, found by computing the result of each.
std::string ReplacementCheck::responsible(int index, const Tensor& expected, const Tensors& inputs) const {
    for (auto& stage : stages_) {
        ValueId id = find(stage.graph, places_[size_t(index)]);
        if (id == no_value) continue;
        Graph graph = stage.graph;
        graph.set_outputs({id});
        auto context = Context::create(compile_placed(std::move(graph), without_passes(threads_)));
        for (size_t i = 0; i < inputs.size(); ++i) context->bind_input(i, inputs[i].address());
        context->run();
        Tensor value = in_source_order(stage.graph, id, plain_on_host(context->output(0)));
        if (!(value.shape() == expected.shape()) || first_difference(value, expected, tolerance(index)))
            return stage.pass;
    }
    return replaced_[size_t(index)].passes.back();
}

void ReplacementCheck::compare(int index, const Tensor& got, const Tensor& expected,
                               const Tensors& inputs) const {
    std::string what;
    if (!(got.shape() == expected.shape())) {
        what = text("it has shape ", got.shape(), ", and ", expected.shape());
    } else if (auto difference = first_difference(got, expected, tolerance(index))) {
        what = text("element ", difference->index, " is ", number_text(difference->got), ", and ",
                    number_text(difference->expected));
    } else {
        return;
    }
    throw Error(
        ErrorCode::accuracy, ErrorClass::runtime,
        text('[', level_name_, "] pass ", responsible(index, expected, inputs), " changes the value '",
             replaced_[size_t(index)].name, "': ", what, " in the graph without passes"));
}

CheckedRun::CheckedRun(const Program& program, const ReplacementCheck& check)
    : check_(check), by_step_(program.steps().size()) {
    auto steps = ready_steps(program);
    for (size_t i = 0; i < steps.size(); ++i)
        if (check_.index_of(ValueId(i)) >= 0)
            (steps[i] < 0 ? others_ : by_step_[size_t(steps[i])]).push_back(ValueId(i));
    if (check_.reference()) reference_ = Context::create(check_.reference());
}

void CheckedRun::before_run(Context& context) {
    if (!reference_) return;
    inputs_.clear();
    for (auto& port : context.program().inputs()) inputs_.push_back(context.value(port.value));
    for (size_t i = 0; i < inputs_.size(); ++i) reference_->bind_input(i, inputs_[i].address());
    reference_->run();
}

void CheckedRun::after_step(size_t step, Context& context) {
    for (ValueId id : by_step_[step]) compare(id, context);
}

void CheckedRun::after_run(Context& context) {
    for (ValueId id : others_) compare(id, context);
}

void CheckedRun::compare(ValueId id, Context& context) const {
    int index = check_.index_of(id);
    Tensor got = context.value(id), expected = reference_->output(size_t(index));
    if (got && expected) check_.compare(index, check_.as_in_source(id, got), expected, inputs_);
}

}  // namespace mge

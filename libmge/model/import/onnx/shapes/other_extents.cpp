// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/shapes/other_extents.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "libmge/base/error.h"
#include "libmge/graph/infer.h"
#include "libmge/op/subgraph.h"
#include "libmge/ops/control/cond.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"

namespace mge::onnx {
namespace {

// Operators whose results are polynomials of sizes, or selections of them.
const OpInfo* const polynomials[] = {
    &ops::Add::info,        &ops::Sub::info,     &ops::Mul::info,       &ops::Neg::info,
    &ops::Convert::info,    &ops::Slice::info,   &ops::Take::info,      &ops::Sum::info,
    &ops::Prod::info,       &ops::Concat::info,  &ops::Reshape::info,   &ops::AddAxis::info,
    &ops::RemoveAxis::info, &ops::ShapeOf::info, &ops::Transpose::info, &ops::BroadcastTo::info,
    &ops::Copy::info,
};

// Number of runs that must agree, including the recorded one if it is known: one alone proves nothing.
constexpr size_t least_witnesses = 2;

bool is_equal(const Tensor& a, const Tensor& b) {
    return a && b && a.spec() == b.spec() && std::memcmp(a.data(), b.data(), a.spec().bytes()) == 0;
}

// Lengths known only at run time are equal within a run, so that they match if a model requires that. In the
// second run each is a different number, so that no two of them are considered equal.
constexpr size_t apart_run = 1, nothing_run = 3;
constexpr int64_t least_apart = 1'000'000;

bool is_assumed_length(const OtherShapes& shapes, int axis) {
    for (size_t run = 0; run < other_runs; ++run)
        if (axis >= shapes[run].rank() || shapes[run][axis] != assumed_lengths[run]) return false;
    return true;
}

bool is_apart(const Shape& shape) {
    return std::ranges::any_of(shape, [](int64_t extent) { return extent >= least_apart; });
}

// For an axis of a value that is made in a graph inside `depth - 1` others.
int64_t length_apart(ValueId id, int axis, size_t depth) {
    constexpr int64_t prime = 999'983;  // the squares of numbers below half of it differ
    int64_t place = (int64_t(id) * max_rank + axis + int64_t(depth) * 77'773) % (prime / 2);
    return least_apart + place * place % prime;
}

// Sizes that two other runs have in common are fixed.
Shape with_other_lengths(const Shape& a, const Shape& b, const std::function<int64_t(int axis)>& length) {
    if (!a.is_known() || !b.is_known() || a.rank() != b.rank()) return Shape::unknown();
    Shape shape;
    for (int axis = 0; axis < a.rank(); ++axis) shape.push_back(a[axis] == b[axis] ? a[axis] : length(axis));
    return shape;
}

Shape shape_apart(const Shape& a, const Shape& b, ValueId id, size_t depth) {
    return with_other_lengths(a, b, [&](int axis) { return length_apart(id, axis, depth); });
}

Shape shape_alike(const Shape& a, const Shape& b, size_t run) {
    return with_other_lengths(a, b, [&](int) { return assumed_lengths[run]; });
}

// Every quotient of known integers is exact.
bool is_exact(const Tensor& dividend, const Tensor& divisor) {
    if (!dividend || !divisor || dividend.dtype() != divisor.dtype()) return false;
    if (dividend.dtype() != DType::i64 && dividend.dtype() != DType::i32) return false;
    IntList a = host_values(dividend), b = host_values(divisor);
    if (a.empty() || b.empty()) return true;
    if (a.size() != b.size() && a.size() != 1 && b.size() != 1) return false;
    for (size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
        int64_t n = a[a.size() == 1 ? 0 : i], d = b[b.size() == 1 ? 0 : i];
        if (!d || d == -1 || n % d) return false;
    }
    return true;
}

// A branch that no run can take here proves nothing about other runs. UserError as for any operator.
void require_both_ways(const Node& node, std::span<const TensorSpec> inputs) {
    if (node.op != &ops::Cond::info) return;
    if (!std::ranges::all_of(inputs, [](auto& spec) { return spec.shape.is_known(); })) return;
    auto& params = node.as<ops::Cond::Params>();
    for (auto& graph : {params.then_graph, params.else_graph}) graph->infer(inputs.subspan(1));
}

}  // namespace

bool may_be_unknown(size_t run) { return run == apart_run || run == nothing_run; }

void OtherExtents::add_input(const Tensor& input, const OtherSpecs& others) {
    Others all;
    for (size_t run = 0; run < other_runs; ++run) {
        all.runs[run].spec = others[run];
        differs_ |= !(input.spec() == others[run]);
    }
    keep(followed_.front(), input.impl()->symbol, all, {});
}

void OtherExtents::enter(const GraphBuilder& inner, std::span<const Tensor> arguments,
                         std::span<const OtherSpecs> others) {
    Followed graph{&inner, {}, {}};
    for (size_t i = 0; i < arguments.size(); ++i) {
        Others all;
        for (size_t run = 0; run < other_runs; ++run) {
            all.runs[run].spec = others[i][run];
            differs_ |= !(arguments[i].spec() == others[i][run]);
        }
        all.is_assumed = is_apart(others[i][apart_run].shape);
        keep(graph, ValueId(i), all, {});
    }
    followed_.push_back(std::move(graph));
}

void OtherExtents::assume(const Tensor& value, const OtherShapes& shapes) {
    auto* graph = find_followed(value);
    if (!graph || value.shape().is_known()) return;
    auto id = value.impl()->symbol;
    OtherShapes apart = shapes;
    for (int axis = 0; axis < shapes[apart_run].rank(); ++axis)
        if (is_assumed_length(shapes, axis) || shapes[apart_run][axis] >= least_apart)
            apart[apart_run][axis] = length_apart(id, axis, followed_.size());
    graph->assumed[id] = apart;
    differs_ = true;
    if (size_t(id) >= graph->values.size() || !graph->values[size_t(id)]) return;
    Others all = *graph->values[size_t(id)];
    all.is_assumed = true;
    for (size_t run = 0; run < other_runs; ++run)
        if (auto& shape = all.runs[run].spec.shape; !shape.is_known()) shape = apart[run];
    keep(*graph, id, all, {});
}

Tensor OtherExtents::assumed_vector(const Tensor& value) {
    OtherShapes shapes;
    for (size_t run = 0; run < other_runs; ++run) shapes[run] = {assumed_lengths[run]};
    assume(value, shapes);
    return value;
}

bool OtherExtents::is_alone() const {
    return std::ranges::all_of(is_left_out_, [](bool is_left_out) { return is_left_out; });
}

size_t OtherExtents::bytes() const {
    size_t bytes = 0;
    for (auto& graph : followed_)
        bytes += graph.values.size() * sizeof(SharedOthers) + graph.kept * (sizeof(Others) + 32);
    return bytes;
}

void OtherExtents::keep(Followed& graph, ValueId id, const Others& others, std::span<const ValueId> like) {
    auto at = size_t(id);
    if (at >= graph.values.size()) graph.values.resize(at + 1);
    for (ValueId other : like) {
        auto& theirs = graph.values[size_t(other)];
        if (!theirs || !(*theirs == others)) continue;
        graph.values[at] = theirs;
        return;
    }
    graph.values[at] = std::make_shared<Others>(others);
    ++graph.kept;
}

OtherExtents::Followed* OtherExtents::find_followed(const Tensor& t) {
    if (!t.is_symbolic()) return nullptr;
    auto found =
        std::ranges::find_if(followed_, [&](auto& graph) { return t.impl()->symbol_owner == graph.builder; });
    return found == followed_.end() ? nullptr : &*found;
}

OtherExtents::Others OtherExtents::others(const Tensor& t) {
    if (auto* graph = find_followed(t)) return others(*graph, t.impl()->symbol);
    Others result;
    for (auto& run : result.runs) run = {t.spec(), t.is_symbolic() ? Tensor() : t};
    result.is_doubtful = t.is_symbolic();
    return result;
}

// Values of outer graphs follow the arguments of an inner graph.
OtherExtents::Others OtherExtents::captured(Followed& graph, ValueId id) {
    auto& inputs = graph.builder->graph().inputs();
    auto place = size_t(std::ranges::find(inputs, id) - inputs.begin());
    auto& captured = graph.builder->captured();
    size_t first = inputs.size() - captured.size();
    return others(captured[place - first]);
}

const OtherExtents::Others& OtherExtents::others(Followed& graph, ValueId id) {
    auto at = size_t(id);
    auto& value = graph.builder->graph().value(id);
    if (at >= graph.values.size()) graph.values.resize(graph.builder->graph().values().size());
    if (!graph.values[at] && value.producer >= 0) follow(graph);
    if (!graph.values[at])
        keep(graph, id, value.is_constant() ? others(value.constant) : captured(graph, id), {});
    return *graph.values.at(at);
}

void OtherExtents::follow(Followed& graph, const Node& node, size_t run, std::vector<Others>& outputs) {
    TensorSpecs inputs, recorded, specs;
    Tensors values, known;
    for (ValueId input : node.inputs) {
        Other other = input == no_value ? Other{} : others(graph, input).runs[run];
        inputs.push_back(other.spec);
        values.push_back(other.value);
    }
    for (ValueId output : node.outputs) recorded.push_back(graph.builder->graph().value(output).spec);
    auto is_inferred = [&] {
        try {
            require_both_ways(node, inputs);
            auto inferred = infer_application(*node.op, node.params, inputs, values, &recorded);
            specs = inferred.outputs;
            auto count = inferred.input_count;
            known = known_outputs(*node.op, inferred.params.get(), std::span(inputs).first(count),
                                  std::span(values).first(count), specs);
            return true;
        } catch (const UserError&) {
            specs.clear();
            return false;
        }
    };
    if (!is_inferred()) {
        // Sizes that do not match: this run is impossible. Assumed ones prove nothing: they may be equal.
        if (!is_assumed(graph, node)) {
            is_left_out_[run] = true;
        } else if (run == apart_run) {
            for (size_t i = 0; i < outputs.size(); ++i)
                specs.push_back({recorded[i].dtype,
                                 shape_apart(outputs[i].runs[0].spec.shape, outputs[i].runs[2].spec.shape,
                                             node.outputs[i], followed_.size()),
                                 {}});
        } else {
            for (size_t i = 0; i < inputs.size(); ++i) {
                if (node.inputs[i] == no_value || !others(graph, node.inputs[i]).is_assumed) continue;
                auto& runs = others(graph, node.inputs[i]).runs;
                inputs[i].shape = shape_alike(runs[0].spec.shape, runs[2].spec.shape, run);
                values[i] = {};
            }
            is_inferred();
        }
    }
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        TensorSpec unknown{recorded[i].dtype, Shape::unknown(), {}};
        outputs[i].runs[run] = {i < specs.size() ? specs[i] : unknown,
                                i < known.size() ? known[i] : Tensor()};
        auto assumed = graph.assumed.find(node.outputs[i]);
        auto& spec = outputs[i].runs[run].spec;
        if (!spec.shape.is_known() && assumed != graph.assumed.end()) spec.shape = assumed->second[run];
        // The number of sizes is the number of axes, whatever they are.
        if (!spec.shape.is_known() && node.op == &ops::ShapeOf::info && may_be_unknown(run))
            spec = outputs[i].runs[0].spec;
    }
}

bool OtherExtents::is_assumed(Followed& graph, const Node& node) {
    return std::ranges::any_of(node.inputs,
                               [&](ValueId id) { return id != no_value && others(graph, id).is_assumed; });
}

// Whether the part of a value that a node reads differs between runs.
bool OtherExtents::varies(Followed& graph, ValueId id, bool reads_value) {
    if (id == no_value) return false;
    auto& all = others(graph, id);
    if (all.is_doubtful) return true;
    const Other* first = nullptr;
    for (size_t run = 0; run < other_runs; ++run) {
        if (is_left_out_[run]) continue;
        if (!first) first = &all.runs[run];
        bool is_same = first->spec == all.runs[run].spec &&
                       (!reads_value || is_equal(first->value, all.runs[run].value));
        if (!is_same) return true;
    }
    return false;
}

bool OtherExtents::is_proof(Followed& graph, const Node& node) {
    if (std::ranges::find(polynomials, node.op) != std::end(polynomials)) return true;
    if (node.op != &ops::FloorDiv::info && node.op != &ops::Div::info) return false;
    for (size_t run = 0; run < other_runs; ++run)
        if (!is_left_out_[run] && !is_exact(others(graph, node.inputs[0]).runs[run].value,
                                            others(graph, node.inputs[1]).runs[run].value))
            return false;
    return true;
}

bool OtherExtents::is_doubtful(Followed& graph, const Node& node, std::span<const Others> outputs) {
    bool has_values = std::ranges::any_of(outputs, [](auto& o) { return bool(o.runs[0].value); });
    if (!has_values) return false;
    bool is_of_doubtful = std::ranges::any_of(
        node.inputs, [&](ValueId id) { return id != no_value && others(graph, id).is_doubtful; });
    if (is_of_doubtful) return true;
    bool reads_values = !node.op->traits.reads_only_specs;
    bool is_of_varying =
        std::ranges::any_of(node.inputs, [&](ValueId id) { return varies(graph, id, reads_values); });
    return is_of_varying && !is_proof(graph, node);
}

void OtherExtents::follow(Followed& graph, NodeId id) {
    auto& node = graph.builder->graph().node(id);
    std::vector<Others> outputs(node.outputs.size());
    for (size_t run = 0; run < other_runs; ++run)
        if (run != apart_run) follow(graph, node, run, outputs);
    follow(graph, node, apart_run, outputs);
    bool is_doubtful = this->is_doubtful(graph, node, outputs), is_assumed = this->is_assumed(graph, node);
    std::vector<ValueId> like;
    for (ValueId id : node.inputs)
        if (id != no_value) like.push_back(id);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        outputs[i].is_doubtful = is_doubtful;
        outputs[i].is_assumed = is_assumed || graph.assumed.contains(node.outputs[i]);
        keep(graph, node.outputs[i], outputs[i], like);
        like.push_back(node.outputs[i]);
    }
}

void OtherExtents::follow(Followed& graph) {
    auto& recorded = graph.builder->graph();
    if (graph.values.size() < recorded.values().size()) graph.values.resize(recorded.values().size());
    while (graph.nodes < recorded.nodes().size()) follow(graph, NodeId(graph.nodes++));
}

OtherSpecs OtherExtents::specs_of(const Tensor& t) {
    OtherSpecs specs;
    if (!differs_) {
        specs.fill(t.spec());
        return specs;
    }
    Others all = others(t);
    for (size_t run = 0; run < other_runs; ++run) specs[run] = all.runs[run].spec;
    return specs;
}

std::optional<int> OtherExtents::find_rank(const Tensor& t) {
    if (t.shape().is_known()) return t.shape().rank();
    if (!differs_) return std::nullopt;
    std::optional<int> rank;
    OtherSpecs specs = specs_of(t);
    for (size_t run = 0; run < other_runs; ++run) {
        if (is_left_out_[run] || (may_be_unknown(run) && !specs[run].shape.is_known())) continue;
        if (!specs[run].shape.is_known() || rank.value_or(specs[run].shape.rank()) != specs[run].shape.rank())
            return std::nullopt;
        rank = specs[run].shape.rank();
    }
    return rank;
}

std::optional<Shape> OtherExtents::find_shape(const Tensor& t) {
    auto rank = find_rank(t);
    if (!rank) return std::nullopt;
    Shape shape;
    for (int i = 0; i < *rank; ++i) {
        auto extent = find_extent(t, i);
        if (!extent) return std::nullopt;
        shape.push_back(*extent);
    }
    return shape;
}

std::optional<int64_t> OtherExtents::find_extent(const Tensor& t, int axis) {
    auto rank = find_rank(t);
    if (!rank || axis < 0 || axis >= *rank) return std::nullopt;  // the last one of a scalar is -1
    std::optional<int64_t> extent;
    if (t.shape().is_known()) extent = t.shape()[axis];
    if (!t.is_symbolic() || !differs_) return extent;
    OtherSpecs specs = specs_of(t);
    size_t witnesses = t.shape().is_known();
    for (size_t run = 0; run < other_runs; ++run) {
        if (is_left_out_[run]) continue;
        auto& shape = specs[run].shape;
        if (!shape.is_known() || shape.rank() != *rank || extent.value_or(shape[axis]) != shape[axis])
            return std::nullopt;
        extent = shape[axis];
        ++witnesses;
    }
    return witnesses >= least_witnesses ? extent : std::nullopt;
}

Tensor OtherExtents::find_value(const Tensor& t) {
    if (!t.is_symbolic()) return t;
    auto* graph = find_followed(t);
    return graph ? find_value(*graph, t.impl()->symbol) : Tensor();
}

Tensor OtherExtents::find_value(Followed& graph, ValueId id) {
    Tensor value = graph.builder->known_value(id);
    if (!differs_ && (value || &graph == &followed_.front())) return value;
    auto& all = others(graph, id);
    if (all.is_doubtful) return {};
    size_t witnesses = bool(value);
    for (size_t run = 0; run < other_runs; ++run) {
        if (is_left_out_[run]) continue;
        if (!value) value = all.runs[run].value;
        if (!is_equal(value, all.runs[run].value)) return {};
        ++witnesses;
    }
    return witnesses >= least_witnesses ? value : Tensor();
}

// The length of a vector.
std::optional<int64_t> OtherExtents::find_length(Followed& graph, ValueId vector) {
    auto& recorded = graph.builder->graph().value(vector).spec.shape;
    std::optional<int64_t> length;
    auto is_same = [&](const Shape& shape) {
        if (!shape.is_known() || shape.rank() != 1) return false;
        if (!length) length = shape[0];
        return *length == shape[0];
    };
    if (recorded.is_known() && !is_same(recorded)) return std::nullopt;
    if (!differs_) return length;
    auto& all = others(graph, vector);
    for (size_t run = 0; run < other_runs; ++run)
        if (!is_left_out_[run] && !is_same(all.runs[run].spec.shape)) return std::nullopt;
    return length;
}

std::vector<std::optional<int64_t>> OtherExtents::find_numbers(const Tensor& vector) {
    if (auto* graph = find_followed(vector))
        return numbers_of_parts(*graph, vector.impl()->symbol, 0, &OtherExtents::find_all_numbers);
    if (vector.is_symbolic()) return {};
    IntList numbers = host_values(vector);
    return {numbers.begin(), numbers.end()};
}

std::vector<OtherNumbers> OtherExtents::find_other_numbers(const Tensor& vector) {
    if (auto* graph = find_followed(vector))
        return numbers_of_parts(*graph, vector.impl()->symbol, 0, &OtherExtents::find_all_other_numbers);
    std::vector<OtherNumbers> numbers;
    if (!vector.is_symbolic())
        for (int64_t number : host_values(vector)) numbers.emplace_back().emplace().fill(number);
    return numbers;
}

OtherNumbers OtherExtents::find_other_extents(const Tensor& t, int axis) {
    OtherSpecs specs = specs_of(t);
    OtherNumbers extents(assumed_lengths);
    for (size_t run = 0; run < other_runs; ++run) {
        if (is_left_out_[run]) continue;
        auto& shape = specs[run].shape;
        if (!shape.is_known() || axis >= shape.rank()) return std::nullopt;
        (*extents)[run] = shape[axis];
    }
    return extents;
}

template <class Number>
std::vector<Number> OtherExtents::numbers_of_parts(Followed& graph, ValueId vector, int depth,
                                                   Find<Number> find) {
    constexpr int deepest = 4, longest = 16;
    std::vector<Number> numbers = (this->*find)(graph, vector);
    if (!numbers.empty()) return numbers;
    auto length = find_length(graph, vector);
    if (!length || *length > longest) return numbers;
    NodeId producer = graph.builder->graph().value(vector).producer;
    auto* node = producer >= 0 && depth < deepest ? &graph.builder->graph().node(producer) : nullptr;
    if (node && node->op == &ops::Concat::info)
        for (ValueId part : node->inputs) {
            auto found = numbers_of_parts(graph, part, depth + 1, find);
            numbers.insert(numbers.end(), found.begin(), found.end());
        }
    if (numbers.size() != size_t(*length)) numbers.assign(size_t(*length), std::nullopt);
    return numbers;
}

std::vector<std::optional<int64_t>> OtherExtents::find_all_numbers(Followed& graph, ValueId vector) {
    Tensor known = find_value(graph, vector);
    if (!known) return {};
    IntList numbers = host_values(known);
    return {numbers.begin(), numbers.end()};
}

// Doubtful values must not be considered equal.
std::vector<OtherNumbers> OtherExtents::find_all_other_numbers(Followed& graph, ValueId vector) {
    auto& all = others(graph, vector);
    std::vector<OtherNumbers> numbers;
    for (size_t run = 0; run < other_runs && !all.is_doubtful; ++run) {
        if (is_left_out_[run]) continue;
        auto& value = all.runs[run].value;
        if (!value || !is_int(value.dtype())) return {};
        IntList here = host_values(value);
        if (numbers.empty()) numbers.assign(here.size(), assumed_lengths);
        if (numbers.size() != here.size()) return {};
        for (size_t i = 0; i < here.size(); ++i) (*numbers[i])[run] = here[i];
    }
    return numbers;
}

namespace {
thread_local OtherExtents* followed_here = nullptr;
}

FollowScope::FollowScope(OtherExtents& extents) : outer_(std::exchange(followed_here, &extents)) {}
FollowScope::~FollowScope() { followed_here = outer_; }
OtherExtents* FollowScope::current() { return followed_here; }

}  // namespace mge::onnx

// SPDX-License-Identifier: Apache-2.0
// Loops. A loop with a number of steps known in advance, or its own counter, becomes a `scan` along a first
// axis. For another one, a `while_loop` counts the steps first, followed by a scan if there are slices to
// collect. A loop of few known steps whose carried values change their shapes is unrolled.

#include <algorithm>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/graph/inner_graph.h"
#include "libmge/model/import/onnx/importer.h"
#include "libmge/model/import/onnx/inner_graphs.h"
#include "libmge/model/import/onnx/operators/loop_appends.h"
#include "libmge/model/import/onnx/parts.h"
#include "libmge/model/import/onnx/shapes/loop_bounds.h"
#include "libmge/op/apply.h"
#include "libmge/ops/control/scan.h"
#include "libmge/ops/control/while_loop.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/comparison.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/where.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/flip.h"
#include "libmge/ops/shape/reshape.h"

namespace mge::onnx {
namespace {

// Limits for unrolled and other loops: the step counter is i32.
constexpr int64_t most_written_out = 1024, most_steps = INT32_MAX - 1;

Tensor truth() { return as_literal(scalar_tensor(1, DType::boolean, host_device)); }
Tensor literal(int64_t value) {
    return as_literal(tensor_from_host({DType::i64, {}, {}}, &value, host_device));
}

bool is_true(const Tensor& known) { return only(numbers_in(known), "a condition") != 0; }

void append(Tensors& to, std::span<const Tensor> from) { to.insert(to.end(), from.begin(), from.end()); }

// An ONNX loop: the inputs of its body are a count, a condition and the carried values; its outputs are a
// condition, the carried values and slices.
struct Loop {
    const file::GraphProto* body = nullptr;
    Tensors start;
    Tensor cond;                   // before the first step
    std::optional<int64_t> trips;  // nullopt: `limit`, or no limit
    Tensor limit;
};

Loop loop_of(const Site& site) {
    Loop loop{.body = site.attributes.graph("body")};
    if (!loop.body) invalid("it has no body");
    for (size_t i = 2; i < site.size(); ++i) loop.start.push_back(site.in(i));
    if (loop.body->output_size() < int(loop.start.size()) + 1)
        invalid("its body has ", counted(loop.body->output_size(), "output"), " for ", loop.start.size(),
                " carried values");
    loop.cond = site.has(1) ? as_scalar(as_dtype(site.in(1), DType::boolean)) : truth();
    if (Tensor known = find_value(loop.cond)) loop.cond = as_literal(known);
    if (!site.has(0)) return loop;
    if (auto known = site.find_values(0)) {
        loop.trips = std::max<int64_t>(0, only(*known, "its number of steps"));
    } else {
        loop.limit = as_scalar(as_dtype(site.in(0), DType::i64));
    }
    return loop;
}

// A value whose shape is known only at run time gets the shape declared in the file.
Tensor with_declared_shape(const Tensor& result, const file::ValueInfoProto& info) {
    auto& type = info.type().tensor_type();
    if (!result || result.shape().is_known() || !type.has_shape()) return result;
    IntList shape;
    for (auto& dim : type.shape().dim()) {
        if (!dim.has_dim_value() || dim.dim_value() < 0) return result;
        shape.push_back(dim.dim_value());
    }
    Tensor declared = ops::reshape(result, {.shape = shape});
    return assume(declared, Shape(shape));
}

// A number as a body declares it, which may be a vector of one.
Tensor as_declared(const Tensor& number, const file::ValueInfoProto& info) {
    bool is_vector = info.type().tensor_type().shape().dim_size() == 1;
    return is_vector ? Tensor(ops::reshape(number, {.shape = {1}})) : number;
}

// The body in a step that takes place.
Tensors step(const Site& site, const Loop& loop, const Tensor& count, std::span<const Tensor> carried) {
    if (loop.body->input_size() < 2)
        invalid("its body has ", counted(loop.body->input_size(), "input"), ", expected at least 2");
    Tensors inputs{as_declared(count, loop.body->input(0)), as_declared(truth(), loop.body->input(1))};
    append(inputs, carried);
    Tensors results = site.importer.import_inner(*loop.body, inputs);
    for (size_t i = 1; i < results.size(); ++i)
        results[i] = with_declared_shape(results[i], loop.body->output(int(i)));
    return results;
}

// Arguments of a step: the count and the carried values.
Arguments arguments_of(const Loop& loop) {
    Arguments arguments;
    arguments.add_scalar(DType::i64);
    for (auto& t : loop.start) arguments.add_like(t);
    return arguments;
}

Tensor next(const Tensor& count) { return ops::add(count, literal(1)); }

// The results of the body, and whether the condition is known; nullopt: it is computed in each step.
struct Trial {
    InnerResults results;
    Tensors captured;
    std::optional<bool> should_continue;
};

Trial tried(const Site& site, const Loop& loop) {
    Trial trial;
    auto body = [&](std::span<const Tensor> in) {
        Tensors results = step(site, loop, in[0], in.subspan(1));
        if (results[0])
            if (Tensor known = find_value(results[0])) trial.should_continue = is_true(known);
        return results;
    };
    trial.results = record_inner(site, arguments_of(loop), trial.captured, body);
    return trial;
}

// The same loop with the limit from its own condition; nullopt: there is none.
std::optional<Loop> with_own_limit(const Site& site, const Loop& loop, const Trial& trial) {
    Tensor steps = find_steps(site, {graph_of(trial.results.graph), loop.start, trial.captured});
    if (!steps) return std::nullopt;
    Loop limited = loop;
    if (Tensor known = find_value(steps)) {
        int64_t most = numbers_in(known)[0];
        limited.trips = std::min(loop.trips.value_or(most), most);
        return limited;
    }
    if (loop.limit) steps = ops::minimum(steps, loop.limit);
    if (loop.trips) steps = ops::minimum(steps, literal(*loop.trips));
    limited.limit = steps;
    limited.trips.reset();
    return limited;
}

bool is_stable(const Loop& loop, const InnerResults& results) {
    for (size_t i = 0; i < loop.start.size(); ++i) {
        const auto &before = loop.start[i].spec(), &after = results.specs[i + 1];
        if (before.dtype != after.dtype) return false;
        if (after.shape.is_known() && !(before == after)) return false;
        if (!are_alike(results.shapes[i + 1], symbolic_shape(loop.start[i]))) return false;
    }
    return true;
}

// A known number of steps, or as many as `steps` has elements.
Tensors walked(const Site& site, const Loop& loop, int64_t count, const Tensor& steps) {
    Arguments arguments = arguments_of(loop);
    if (steps) arguments.add_slice(steps);
    Tensors captured, operands{literal(0)};
    auto body = record_inner(site, arguments, captured, [&](std::span<const Tensor> in) {
        Tensors results = step(site, loop, in[0], in.subspan(1, loop.start.size()));
        results[0] = next(in[0]);
        return results;
    });
    append(operands, loop.start);
    if (steps) operands.push_back(steps);
    append(operands, captured);
    Tensors results = ops::scan(TensorList(operands), {.body = body.graph,
                                                       .carried = int64_t(loop.start.size()) + 1,
                                                       .sliced = steps ? 1 : 0,
                                                       .length = steps ? 0 : count});
    for (size_t i = 0; i < results.size(); ++i) {
        if (i <= loop.start.size())
            assume_either(results[i], body.shapes[i], body.shapes[i]);
        else
            assume_stacked(results[i], body.shapes[i]);
    }
    results.erase(results.begin());
    return results;
}

// Every step goes on, or the first is the last.
Tensors known_ahead(const Site& site, const Loop& loop, bool should_continue) {
    bool is_bounded = loop.trips || loop.limit;
    if (!is_bounded && should_continue) unsupported("a loop without an end");
    if (loop.trips && *loop.trips > most_steps && should_continue)
        unsupported("a loop of ", *loop.trips, " steps");
    if (loop.limit || loop.cond.is_symbolic()) {
        Tensor most = loop.limit ? loop.limit : literal(loop.trips.value_or(1));
        if (!should_continue) most = ops::minimum(most, literal(1));
        Tensor count = ops::where(loop.cond, ops::maximum(most, number(most, 0)), number(most, 0));
        return walked(site, loop, 0, count_up(ops::reshape(count, {.shape = {1}}), DType::i64));
    }
    int64_t count = should_continue ? *loop.trips : std::min<int64_t>(1, loop.trips.value_or(1));
    return walked(site, loop, count, {});
}

// The carried values after the step that ends the loop, or at the limit; and the number of steps.
Tensors searched(const Site& site, const Loop& loop) {
    Arguments arguments = arguments_of(loop);
    arguments.add_scalar(DType::boolean);
    size_t carried = arguments.specs.size();
    Tensors captured, operands{literal(0)};
    auto body = record_inner(site, arguments, captured, [&](std::span<const Tensor> in) {
        Tensors results = step(site, loop, in[0], in.subspan(1, loop.start.size()));
        results.resize(loop.start.size() + 1);
        results.push_back(as_scalar(results[0]));
        results[0] = next(in[0]);
        return results;
    });
    auto condition = record_inner(site, arguments, captured, [&](std::span<const Tensor> in) -> Tensors {
        Tensor cond = in[carried - 1];
        Tensor limit = loop.trips ? literal(*loop.trips) : loop.limit;
        return {limit ? ops::logical_and(cond, ops::less(in[0], limit)) : cond};
    });
    append(operands, loop.start);
    operands.push_back(loop.cond);
    append(operands, captured);
    Tensors results =
        ops::while_loop(TensorList(operands), {.condition = with_inputs(condition.graph, operands),
                                               .body = with_inputs(body.graph, operands),
                                               .carried = int64_t(carried)});
    for (size_t i = 0; i < carried; ++i) assume_either(results[i], body.shapes[i], body.shapes[i]);
    return results;
}

// Slices are collected by a second walk, of as many steps as the first took.
Tensors found(const Site& site, const Loop& loop, bool has_slices) {
    Tensors results = searched(site, loop);
    if (has_slices) return walked(site, loop, 0, count_up(results.back(), DType::i64));
    return {results.begin() + 1, results.begin() + 1 + ptrdiff_t(loop.start.size())};
}

// Each step by itself; nullopt: there are too many, or the number of steps is known only at run time.
std::optional<Tensors> written_out(const Site& site, const Loop& loop) {
    if (loop.limit || loop.cond.is_symbolic() || loop.trips > most_written_out) return std::nullopt;
    auto count = loop.start.size();
    Tensors carried = loop.start;
    std::vector<Tensors> slices(size_t(loop.body->output_size()) - 1 - count);
    Tensor cond = loop.cond;
    for (int64_t i = 0; (!loop.trips || i < *loop.trips) && is_true(cond); ++i) {
        if (i == most_written_out) return std::nullopt;
        Tensors results = step(site, loop, literal(i), carried);
        for (auto& result : results)
            if (!result) unsupported("an inner graph with unsupported nodes");
        cond = find_value(results[0]);
        if (!cond) return std::nullopt;
        carried.assign(results.begin() + 1, results.begin() + 1 + ptrdiff_t(count));
        for (size_t k = 0; k < slices.size(); ++k)
            slices[k].push_back(ops::add_axis(results[1 + count + k], {.axes = {0}}));
    }
    for (auto& parts : slices) {
        if (parts.empty()) unsupported("a loop of 0 steps with collected outputs");
        carried.push_back(parts.size() == 1 ? parts[0] : ops::concat(TensorList(parts), {.axis = 0}));
    }
    return carried;
}

[[noreturn]] void refuse_changing() {
    unsupported("carried values that are sequences or change their shape, in more than ", most_written_out,
                " steps or in a computed number of them");
}

bool has_sequence(const Site& site, const Loop& loop) {
    return std::ranges::any_of(loop.start, [&](auto& t) { return bool(site.importer.sequences().find(t)); });
}

Tensors looped(const Site& site, const Loop& loop) {
    if (has_sequence(site, loop)) refuse_changing();
    Trial trial = tried(site, loop);
    if (!is_stable(loop, trial.results)) {
        auto results = written_out(site, loop);
        if (!results) refuse_changing();
        return *results;
    }
    if (trial.should_continue) return known_ahead(site, loop, *trial.should_continue);
    if (auto limited = with_own_limit(site, loop, trial)) return known_ahead(site, *limited, true);
    return found(site, loop, trial.results.specs.size() > loop.start.size() + 1);
}

// The result of a loop whose body returns slices instead of appending: the initial value, followed by the
// parts.
Tensor appended(const Tensor& start, const Tensor& slices) {
    int rank = rank_of(start);
    if (!rank || rank_of(slices) != rank + 1)
        invalid("a part has rank ", rank_of(slices) - 1, ", the one before it rank ", rank);
    std::vector<Extent> extents{-1};
    for (int i = 1; i < rank; ++i) {
        auto fixed = find_extent(start, i);
        extents.push_back(fixed ? Extent(*fixed) : extent_of(start, i));
    }
    // Without steps there are no slices, and no shape of them.
    Tensor parts = reshaped(ops::reshape(slices, {.shape = {-1}}), extents);
    assume_like(parts, symbolic_shape(start), {0});
    return ops::concat({start, parts}, {.axis = 0});
}

// A sequence whose loop returns slices instead of appending them.
Tensor collected(const Site& site, const Sequence& start, const Tensor& slices) {
    if (start.elements) unsupported("a loop that appends to a sequence of computed length");
    Tensors parts;
    for (auto& item : start.items) {
        parts.push_back(ops::add_axis(item, {.axes = {0}}));
        if (rank_of(item) + 1 != rank_of(slices)) refuse_changing();
        for (int axis = 0; axis < rank_of(item); ++axis) {
            auto own = find_extent(item, axis), further = find_extent(slices, axis + 1);
            if (own && further && own != further) refuse_changing();
        }
    }
    parts.push_back(slices);
    Tensor all = parts.size() == 1 ? slices : ops::concat(TensorList(parts), {.axis = 0});
    return site.importer.sequences().add({{}, false, all, 0, false});
}

// Loops that append to carried values, as PyTorch scripts do, collect slices instead.
Tensors looped_with_appends(const Site& site, const Loop& loop, const AppendingBody& body) {
    Loop collecting = loop;
    collecting.body = &body.collecting;
    collecting.start.clear();
    for (size_t i = 0; i < loop.start.size(); ++i)
        if (!body.appends.contains(i)) collecting.start.push_back(loop.start[i]);
    Tensors results = looped(site, collecting), all;
    size_t next = 0, next_part = results.size() - body.appends.size();
    for (size_t i = 0; i < loop.start.size(); ++i) {
        auto* sequence = site.importer.sequences().find(loop.start[i]);
        if (!body.appends.contains(i))
            all.push_back(results[next++]);
        else if (sequence)
            all.push_back(collected(site, *sequence, results[next_part++]));
        else
            all.push_back(appended(loop.start[i], results[next_part++]));
    }
    append(all, std::span(results).subspan(next, results.size() - body.appends.size() - next));
    return all;
}

// Each list of one number per operand; left out: zeros.
IntList numbers_of(const Site& site, std::string_view attribute, size_t count) {
    IntList numbers = site.attributes.integers(attribute).value_or(IntList(count, 0));
    if (numbers.size() != count)
        invalid("its attribute '", attribute, "' has ", counted(numbers.size(), "number"), ", expected ",
                count);
    return numbers;
}

Tensor reversed(const Tensor& x) { return ops::flip(x, {.axes = {0}}); }

// The results of the body for the carried values, and for slices of the other inputs along their first axis.
Tensors scanned(const Site& site, const file::GraphProto& graph, std::span<const Tensor> inputs,
                size_t sliced) {
    size_t carried = inputs.size() - sliced;
    Arguments arguments;
    for (size_t i = 0; i < inputs.size(); ++i)
        i < carried ? arguments.add_like(inputs[i]) : arguments.add_slice(inputs[i]);
    Tensors captured, operands(inputs.begin(), inputs.end());
    auto body = record_inner(site, arguments, captured, [&](std::span<const Tensor> in) {
        return site.importer.import_inner(graph, in);
    });
    if (body.specs.size() < carried)
        invalid("its body has ", counted(body.specs.size(), "output"), " for ",
                counted(carried, "carried value"));
    for (size_t i = 0; i < carried; ++i)
        if (!(body.specs[i] == inputs[i].spec()))
            unsupported("a state that a step changes from ", inputs[i].spec(), " to ", body.specs[i]);
    append(operands, captured);
    Tensors results = ops::scan(TensorList(operands),
                                {.body = body.graph, .carried = int64_t(carried), .sliced = int64_t(sliced)});
    for (size_t i = 0; i < results.size(); ++i) {
        if (i < carried)
            assume_either(results[i], body.shapes[i], body.shapes[i]);
        else
            assume_stacked(results[i], body.shapes[i]);
    }
    return results;
}

size_t scanned_inputs(const Site& site, const file::GraphProto& graph, size_t inputs) {
    auto count = site.attributes.integer("num_scan_inputs", 0);
    if (count < 1 || uint64_t(count) > inputs)
        invalid("its num_scan_inputs is ", count, " of ", counted(inputs, "input"));
    if (uint64_t(graph.output_size()) < inputs - size_t(count))
        invalid("its body has ", counted(graph.output_size(), "output"), " for ",
                counted(inputs - size_t(count), "state"));
    return size_t(count);
}

// Version 8: every operand has a first axis of examples that the body does not see, and the next is scanned.
Tensors scan_of_examples(const Site& site, const file::GraphProto& graph) {
    if (site.has(0)) unsupported("sequence_lens");
    Tensors inputs(site.inputs(1).begin(), site.inputs(1).end()), captured;
    size_t sliced = scanned_inputs(site, graph, inputs.size());
    IntList backwards = numbers_of(site, "directions", sliced);
    Arguments arguments;
    for (auto& input : inputs) arguments.add_slice(input);
    auto body = record_inner(site, arguments, captured, [&](std::span<const Tensor> in) {
        Tensors examples(in.begin(), in.end());
        for (size_t i = 0; i < sliced; ++i)
            if (auto& x = examples[inputs.size() - sliced + i]; backwards[i]) x = reversed(x);
        return scanned(site, graph, examples, sliced);
    });
    size_t count = inputs.size();
    append(inputs, captured);
    Tensors results =
        ops::scan(TensorList(inputs), {.body = body.graph, .carried = 0, .sliced = int64_t(count)});
    for (size_t i = 0; i < results.size(); ++i) assume_stacked(results[i], body.shapes[i]);
    return results;
}

Tensors import_loop(const Site& site) {
    Loop loop = loop_of(site);
    if (!loop.limit && !loop.cond.is_symbolic() && !is_true(loop.cond)) loop.trips = 0;
    bool has_sequences = has_sequence(site, loop);
    if (has_sequences)
        if (auto results = written_out(site, loop)) return *results;
    bool may_be_written_out = !has_sequences && loop.trips && !loop.cond.is_symbolic();
    auto body = may_be_written_out ? std::nullopt : find_appends(*loop.body, loop.start.size());
    return body ? looped_with_appends(site, loop, *body) : looped(site, loop);
}

Tensors import_scan(const Site& site) {
    auto* graph = site.attributes.graph("body");
    if (!graph) invalid("it has no body");
    if (site.opset < 9) return scan_of_examples(site, *graph);
    Tensors inputs;
    for (size_t i = 0; i < site.size(); ++i) inputs.push_back(site.in(i));
    size_t sliced = scanned_inputs(site, *graph, inputs.size()), carried = inputs.size() - sliced;
    IntList axes = numbers_of(site, "scan_input_axes", sliced),
            backwards = numbers_of(site, "scan_input_directions", sliced);
    for (size_t i = 0; i < sliced; ++i) {
        auto& x = inputs[carried + i];
        x = moved_axis(x, site.axis(axes[i], rank_of(x)), 0);
        if (backwards[i]) x = reversed(x);
    }
    Tensors results = scanned(site, *graph, inputs, sliced);
    size_t slices = results.size() - carried;
    IntList result_axes = numbers_of(site, "scan_output_axes", slices),
            result_backwards = numbers_of(site, "scan_output_directions", slices);
    for (size_t i = 0; i < slices; ++i) {
        auto& y = results[carried + i];
        if (result_backwards[i]) y = reversed(y);
        y = moved_axis(y, 0, site.axis(result_axes[i], rank_of(y)));
    }
    return results;
}

}  // namespace

ImportRows loops_rows() {
    static constexpr ImportRow rows[] = {
        {"Loop", import_loop, oldest_opset, newest_opset, Takes::sequences},
        {"Scan", import_scan, 8},
    };
    return rows;
}

}  // namespace mge::onnx

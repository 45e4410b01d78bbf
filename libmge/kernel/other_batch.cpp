// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/other_batch.h"

#include <algorithm>
#include <array>
#include <memory>

namespace mge {
namespace {

std::optional<ParamValue> param(const Problem& p, std::string_view name) {
    for (auto& field : p.fields)
        if (field.name == name) return field.get(p.params);
    return std::nullopt;
}
bool is_set(const Problem& p, std::string_view name) {
    auto value = param(p, name);
    return value && std::holds_alternative<bool>(*value) && std::get<bool>(*value);
}
int64_t integer(const Problem& p, std::string_view name, int64_t otherwise) {
    auto value = param(p, name);
    return value && std::holds_alternative<int64_t>(*value) ? std::get<int64_t>(*value) : otherwise;
}

bool is_first_axis(int64_t axis, int rank) { return axis == 0 || axis == -rank; }

// Rules by operator: whether items are computed apart, given that input 0 is a batch.

bool always_apart(const Problem&) { return true; }
bool axis_is_inside(const Problem& p) {
    return !is_first_axis(integer(p, "axis", 0), p.inputs[0].shape.rank());
}
bool axes_are_inside(const Problem& p) {
    auto value = param(p, "axes");
    auto* axes = value ? std::get_if<IntList>(&*value) : nullptr;
    int rank = p.inputs[0].shape.rank();
    return axes && !axes->empty() &&
           std::none_of(axes->begin(), axes->end(), [&](int64_t axis) { return is_first_axis(axis, rank); });
}
bool normalizes_inside(const Problem& p) { return integer(p, "axes", 1) < p.inputs[0].shape.rank(); }
bool does_not_learn(const Problem& p) { return !is_set(p, "training"); }
// The first axis of `a` is that of the result, unless a is a transposed matrix or there is a larger batch.
bool rows_are_items(const Problem& p) {
    int rank = p.inputs[0].shape.rank();
    return rank == p.outputs[0].shape.rank() && rank >= 2 && !(rank == 2 && is_set(p, "transpose_a"));
}

struct Rule {
    std::string_view op;
    size_t batch_input;  // whose first extent is the batch
    unsigned shared;     // bit i: input i has no items whatever its shape
    bool (*is_apart)(const Problem&);
};
constexpr std::array rules{
    Rule{"adaptive_avg_pool2d", 0, 0, always_apart},
    Rule{"adaptive_max_pool2d", 0, 0, always_apart},
    Rule{"argmax", 0, 0, axis_is_inside},
    Rule{"argmin", 0, 0, axis_is_inside},
    Rule{"avg_pool2d", 0, 0, always_apart},
    Rule{"batch_norm", 0, 0b11110, does_not_learn},
    Rule{"conv2d", 0, 0b0110, always_apart},
    Rule{"conv2d_backward_data", 1, 0b0001, always_apart},
    Rule{"cumsum", 0, 0, axis_is_inside},
    Rule{"group_norm", 0, 0, always_apart},
    Rule{"layer_norm", 0, 0, normalizes_inside},
    Rule{"matmul", 0, 0b0100, rows_are_items},
    Rule{"max", 0, 0, axes_are_inside},
    Rule{"max_pool2d", 0, 0, always_apart},
    Rule{"mean", 0, 0, axes_are_inside},
    Rule{"min", 0, 0, axes_are_inside},
    Rule{"prod", 0, 0, axes_are_inside},
    Rule{"softmax", 0, 0, axis_is_inside},
    Rule{"sum", 0, 0, axes_are_inside},
};

const Rule* find_rule(const Problem& p) {
    auto it = std::find_if(rules.begin(), rules.end(), [&](auto& rule) { return rule.op == p.op; });
    return it == rules.end() ? nullptr : &*it;
}

bool is_known(std::span<const TensorSpec> specs) {
    return std::all_of(specs.begin(), specs.end(),
                       [](auto& spec) { return spec.is_absent() || spec.shape.is_known(); });
}

// More operands than any of these operators has.
constexpr size_t max_operands = 12;

struct EachItem {
    const Algorithm* algorithm = nullptr;
    Prepared inner;
    int64_t batch = 0;
    std::vector<size_t> input_bytes, output_bytes;  // from one item to the next; 0: shared
};

void run_each_item(const Prepared& prepared, const Launch& launch) {
    auto& s = prepared.state<EachItem>();
    std::array<const void*, max_operands> inputs;
    std::array<void*, max_operands> outputs;
    for (int64_t n = 0; n < s.batch; ++n) {
        for (size_t i = 0; i < launch.inputs.size(); ++i)
            inputs[i] = launch.inputs[i] ? launch.in<char>(i) + size_t(n) * s.input_bytes[i] : nullptr;
        for (size_t i = 0; i < launch.outputs.size(); ++i)
            outputs[i] = launch.out<char>(i) + size_t(n) * s.output_bytes[i];
        s.algorithm->run(s.inner, {{inputs.data(), launch.inputs.size()},
                                   {outputs.data(), launch.outputs.size()},
                                   launch.workspace,
                                   launch.threads});
    }
}

// Only its `run` is used: it is not in any list.
constexpr Algorithm each_item_algorithm{"each", always, nullptr, run_each_item};

}  // namespace

std::optional<BatchOperands> batch_operands(const Problem& p) {
    auto* rule = find_rule(p);
    if (!rule || rule->batch_input >= p.inputs.size() || !is_known(p.inputs) || !is_known(p.outputs) ||
        std::max(p.inputs.size(), p.outputs.size()) > max_operands)
        return std::nullopt;
    auto& first = p.inputs[rule->batch_input];
    if (first.is_absent() || first.shape.rank() == 0 || p.is_constant(rule->batch_input)) return std::nullopt;
    if (!rule->is_apart(p)) return std::nullopt;
    BatchOperands result{first.shape[0], {}, {}};
    unsigned shared = rule->shared | p.constant_inputs;
    if (p.op == "matmul" && first.shape.rank() == 2) shared |= 1u << 1;  // one matrix for all rows
    for (size_t i = 0; i < p.inputs.size(); ++i) {
        auto& spec = p.inputs[i];
        result.inputs.push_back(!spec.is_absent() && !(shared >> i & 1) &&
                                spec.shape.rank() == first.shape.rank() && spec.shape[0] == result.batch);
    }
    for (auto& spec : p.outputs)
        result.outputs.push_back(!spec.is_absent() && spec.shape.rank() > 0 &&
                                 spec.shape[0] == result.batch &&
                                 (&spec == &p.outputs[0] || p.op != "batch_norm"));
    if (!result.outputs[0]) return std::nullopt;
    return result;
}

OtherBatch::OtherBatch(const Problem& problem, const BatchOperands& operands, int64_t batch)
    : inputs_(problem.inputs.begin(), problem.inputs.end()),
      outputs_(problem.outputs.begin(), problem.outputs.end()),
      problem_(problem) {
    for (size_t i = 0; i < inputs_.size(); ++i)
        if (operands.inputs[i]) inputs_[i].shape[0] = batch;
    for (size_t i = 0; i < outputs_.size(); ++i)
        if (operands.outputs[i]) outputs_[i].shape[0] = batch;
    problem_.inputs = inputs_;
    problem_.outputs = outputs_;
}

Choice each_item(Choice one, const Problem& problem, const BatchOperands& operands) {
    EachItem state{one.algorithm, std::move(one.prepared), operands.batch, {}, {}};
    auto bytes = [&](const TensorSpec& spec, bool is_batch) {
        return is_batch ? spec.bytes() / size_t(operands.batch) : 0;
    };
    for (size_t i = 0; i < problem.inputs.size(); ++i)
        state.input_bytes.push_back(bytes(problem.inputs[i], operands.inputs[i]));
    for (size_t i = 0; i < problem.outputs.size(); ++i)
        state.output_bytes.push_back(bytes(problem.outputs[i], operands.outputs[i]));
    size_t workspace = state.inner.workspace();
    PackedInputs packed = state.inner.packed();
    one.algorithm = &each_item_algorithm;
    one.candidate.name = std::string(each_item_prefix) + one.candidate.name;
    one.prepared = Prepared::make(std::move(state), workspace, std::move(packed));
    one.problem = problem.key();
    return one;
}

}  // namespace mge

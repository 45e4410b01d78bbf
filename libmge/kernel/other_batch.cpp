// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/other_batch.h"

#include <algorithm>
#include <array>

namespace mge {
namespace {

bool is_known(Specs specs) {
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
        Launch item = launch;
        item.inputs = {inputs.data(), launch.inputs.size()};
        item.outputs = {outputs.data(), launch.outputs.size()};
        s.algorithm->run(s.inner, item);
    }
}

// Only its `run` is used: it is not in any list.
constexpr Algorithm each_item_algorithm{"each", always, nullptr, run_each_item};

}  // namespace

std::optional<BatchOperands> batch_operands(const Problem& p) {
    if (!p.batch_independence || !is_known(p.inputs) || !is_known(p.outputs) ||
        std::max(p.inputs.size(), p.outputs.size()) > max_operands)
        return std::nullopt;
    auto items = p.batch_independence(p.params, p.inputs, p.outputs);
    if (!items || !p.has_input(items->batch_input) || p.is_constant(items->batch_input)) return std::nullopt;
    auto& first = p.inputs[items->batch_input];
    if (first.shape.rank() == 0) return std::nullopt;
    BatchOperands result{first.shape[0], items->shares_times, {}, {}};
    uint32_t shared = items->shared_inputs | p.constant_inputs;
    for (size_t i = 0; i < p.inputs.size(); ++i) {
        auto& spec = p.inputs[i];
        result.inputs.push_back(!spec.is_absent() && !(shared >> i & 1) &&
                                spec.shape.rank() == first.shape.rank() && spec.shape[0] == result.batch);
    }
    for (size_t i = 0; i < p.outputs.size(); ++i) {
        auto& spec = p.outputs[i];
        result.outputs.push_back(!spec.is_absent() && !(items->shared_outputs >> i & 1) &&
                                 spec.shape.rank() > 0 && spec.shape[0] == result.batch);
    }
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
        return is_batch && operands.batch ? spec.bytes() / size_t(operands.batch) : 0;
    };
    for (size_t i = 0; i < problem.inputs.size(); ++i)
        state.input_bytes.push_back(bytes(problem.inputs[i], operands.inputs[i]));
    for (size_t i = 0; i < problem.outputs.size(); ++i)
        state.output_bytes.push_back(bytes(problem.outputs[i], operands.outputs[i]));
    size_t workspace = state.inner.workspace();
    PackedInputs packed = state.inner.packed();
    auto code = state.inner.code();
    one.algorithm = &each_item_algorithm;
    one.candidate.name = std::string(each_item_prefix) + one.candidate.name;
    one.prepared = Prepared::make(std::move(state), workspace, std::move(packed)).with_code(std::move(code));
    one.problem = problem.key();
    return one;
}

}  // namespace mge

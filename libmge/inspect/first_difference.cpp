// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/first_difference.h"

#include "libmge/device/device.h"
#include "libmge/inspect/value_names.h"
#include "libmge/op/apply.h"
#include "libmge/ops/shape/reorder.h"
#include "libmge/passes/node_problem.h"

namespace mge {
namespace {

// The plain tensor in the layout that a step reads.
Tensor in_layout(const Tensor& plain, const TensorSpec& spec) {
    if (spec.layout.is_plain()) return plain;
    auto params = std::make_shared<ops::Reorder::Params>();
    params->layout = spec.layout.name();
    TensorSpec to{plain.dtype(), plain.shape(), spec.layout};
    Operands operands{{plain.spec()}, {to}, {nullptr}};
    Choice choice =
        NodeProblem(ops::Reorder::info, params, std::move(operands), 1, Precision::strict).choose({});
    Tensor result(to, device(default_device()).allocate(to.bytes()));
    StorageRef workspace;
    if (size_t bytes = choice.prepared.workspace()) workspace = device(default_device()).allocate(bytes);
    const void* in[] = {plain.data()};
    void* out[] = {result.data()};
    choice.algorithm->run(choice.prepared, {in, out, workspace ? workspace->data : nullptr, 1, nullptr});
    return result;
}

class Finder {
public:
    Finder(LayerWalk& walk, Reference& reference, bool by_name, const Tolerance& tolerance)
        : walk_(walk), reference_(reference), by_name_(by_name), tolerance_(tolerance) {}

    FirstDifference find() {
        FirstDifference result;
        result.steps = walk_.step_count();
        for (size_t step = 0; step < result.steps && !result.cause; ++step) {
            walk_.run_next();
            auto& node = walk_.node(step);
            for (size_t i = 0; i < node.outputs.size() && !result.cause; ++i) compare(step, i, result);
            reference_.release_before(step + 1);
        }
        return result;
    }

private:
    void compare(size_t step, size_t output, FirstDifference& result) {
        auto& node = walk_.node(step);
        ValueId id = node.outputs[output];
        std::string key = value_key(walk_.graph(), id, by_name_);
        if (key.empty() || !walk_.value(id) || !reference_.has(key)) return;
        Tensor got = to_plain(walk_.value(id));
        auto comparison = reference_.compare(key, got, tolerance_);
        if (!comparison) return;
        ++result.compared;
        if (comparison->passed()) return;
        OperatorDifference difference = describe(step, output, got, *comparison);
        if (Tensor expected = reference_.load(key)) {
            if (comparison->mismatch.empty()) difference.expected = figures_of(expected);
            difference.alone = run_alone(step, output, expected);
        }
        bool is_cause = !difference.alone || !difference.alone->comparison.passed();
        if (!result.first) result.first = difference;
        if (is_cause) result.cause = std::move(difference);
    }

    OperatorDifference describe(size_t step, size_t output, const Tensor& got,
                                const Comparison& comparison) const {
        auto& node = walk_.node(step);
        ValueId id = node.outputs[output];
        OperatorDifference d;
        d.step = step;
        d.op = node.op->name;
        d.name = node.name.empty() ? value_label(walk_.graph(), node.outputs[0]) : node.name;
        d.algorithm = walk_.algorithm();
        d.output = value_label(walk_.graph(), id);
        d.sources = node.sources;
        d.spec = got.spec();
        d.comparison = comparison;
        d.got = figures_of(got);
        return d;
    }

    std::optional<OperatorDifference::Alone> run_alone(size_t step, size_t output, const Tensor& expected) {
        auto& node = walk_.node(step);
        OperatorDifference::Alone alone;
        Tensors inputs;
        for (ValueId id : node.inputs) {
            inputs.push_back(id == no_value ? Tensor{} : walk_.value(id));
            if (id == no_value || walk_.graph().value(id).is_constant()) continue;
            ++alone.inputs;
            std::string key = value_key(walk_.graph(), id, by_name_);
            Tensor value = key.empty() || !reference_.has(key) ? Tensor{} : reference_.load(key);
            auto& spec = inputs.back().spec();
            if (!value || !(value.shape() == spec.shape)) continue;
            if (is_float(value.dtype()) && is_float(spec.dtype)) value = convert_dtype(value, spec.dtype);
            if (value.dtype() != spec.dtype) continue;
            inputs.back() = in_layout(value, spec);
            ++alone.from_reference;
        }
        // With none of the reference's inputs it would be the same run again.
        if (alone.from_reference == 0) return std::nullopt;
        Tensor again = to_plain(walk_.run_alone(step, inputs).at(output));
        alone.comparison = compare_tensors(again, expected, tolerance_);
        alone.got = figures_of(again);
        return alone;
    }

    LayerWalk& walk_;
    Reference& reference_;
    bool by_name_;
    const Tolerance& tolerance_;
};

}  // namespace

std::map<std::string, size_t> last_uses(const LayerWalk& walk, bool by_name) {
    std::map<std::string, size_t> result;
    for (size_t step = 0; step < walk.step_count(); ++step)
        for (auto* ids : {&walk.node(step).inputs, &walk.node(step).outputs})
            for (ValueId id : *ids)
                if (id != no_value)
                    if (auto key = value_key(walk.graph(), id, by_name); !key.empty()) result[key] = step;
    return result;
}

FirstDifference find_first_difference(LayerWalk& walk, Reference& reference, bool by_name,
                                      const Tolerance& tolerance) {
    return Finder(walk, reference, by_name, tolerance).find();
}

}  // namespace mge

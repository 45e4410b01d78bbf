// SPDX-License-Identifier: Apache-2.0
#include "libmge/inspect/first_difference.h"

#include <set>

#include "libmge/compile/plain.h"
#include "libmge/device/device.h"
#include "libmge/graph/halves.h"
#include "libmge/graph/origins.h"
#include "libmge/inspect/value_names.h"
#include "libmge/kernel/cpu/in_other_dtype.h"
#include "libmge/op/apply.h"
#include "libmge/passes/channel_order.h"

namespace mge {
namespace {

class Finder {
public:
    Finder(LayerWalk& walk, Reference& reference, const ValueKeys& keys, const Tolerance& tolerance,
           bool may_be_another)
        : walk_(walk),
          reference_(reference),
          keys_(keys),
          tolerance_(tolerance),
          may_be_another_(may_be_another),
          uses_(walk.graph().use_counts()),
          is_compared_(walk.graph().values().size()),
          is_behind_halves_(behind_halves(walk.graph())),
          step_of_(walk.graph().nodes().size(), -1) {
        for (size_t step = 0; step < walk.step_count(); ++step)
            step_of_[size_t(walk.graph().value(walk.node(step).outputs.at(0)).producer)] = int(step);
    }

    FirstDifference find() {
        FirstDifference result;
        result.steps = walk_.step_count();
        for (size_t step = 0; step < result.steps && !result.cause; ++step) {
            walk_.run_next();
            rounds_ |= walk_.algorithm().starts_with(cpu::in_rounded.prefix);
            auto& node = walk_.node(step);
            for (size_t i = 0; i < node.outputs.size() && !result.cause; ++i) compare(step, i, result);
            reference_.release_before(step + 1);
        }
        return result;
    }

private:
    // The key under which the reference has a value; null when it has it not.
    const std::string* find_key(ValueId id) const {
        for (auto& key : keys_[size_t(id)])
            if (reference_.has(key)) return &key;
        return nullptr;
    }

    Tolerance tolerance_for(ValueId id) const {
        Tolerance result = tolerance_;
        result.is_rounded_to_half = rounds_ || is_behind_halves_[size_t(id)];
        return result;
    }

    void compare(size_t step, size_t output, FirstDifference& result) {
        ValueId id = walk_.node(step).outputs[output];
        if (uses_[size_t(id)] == 0) return;
        ++result.values;
        auto* key = find_key(id);
        if (!key || !walk_.value(id)) return;
        Tensor got = in_source_order(walk_.graph(), id, plain_on_host(walk_.value(id)));
        auto comparison = reference_.compare(*key, got, tolerance_for(id));
        if (!comparison || (may_be_another_ && !comparison->mismatch.empty())) return;
        ++result.compared;
        is_compared_[size_t(id)] = true;
        if (comparison->passed()) return;
        OperatorDifference difference = describe(step, output, got, *comparison);
        find_suspects(step, difference);
        if (Tensor expected = reference_.load(*key)) {
            if (comparison->mismatch.empty()) difference.expected = figures_of(expected);
            difference.alone = run_alone(step, output, expected);
        }
        bool is_cause = !difference.alone || !difference.alone->comparison.passed();
        if (!result.first) result.first = difference;
        if (is_cause && walk_.holds_graphs(step)) {
            look_inside(step, *key, difference);
            if (result.first->step == step) result.first = difference;
        }
        if (is_cause) result.cause = std::move(difference);
    }

    void look_inside(size_t step, const std::string& key, OperatorDifference& d) {
        auto prefix = reference_.enter(key, d.name);
        if (!prefix) return;
        InsideValues inside(
            [&](const InsideValue& value) {
                Tensor now = value.context.value(value.id);
                std::string of_reference = *prefix + value.name().substr(d.name.size() + 1);
                if (!now || d.inside || !reference_.has(of_reference)) return;
                Tensor got = plain_on_host(now);
                auto comparison =
                    reference_.compare(of_reference, got, tolerance_for(walk_.node(step).outputs.at(0)));
                if (!comparison) return;
                ++d.compared_inside;
                if (comparison->passed()) return;
                auto& report = value.context.program().steps()[value.step];
                d.inside = {report.op,   value.path + report.name, report.algorithm, value.name(), got.spec(),
                            *comparison, figures_of(got)};
            },
            Reference::iterations);
        OperatorDifference::Alone unused;
        walk_.run_inside(step, inputs_of_reference(step, unused), inside);
    }

    OperatorDifference describe(size_t step, size_t output, const Tensor& got,
                                const Comparison& comparison) const {
        auto& node = walk_.node(step);
        ValueId id = node.outputs[output];
        OperatorDifference d;
        d.step = step;
        d.op = node.op->name;
        d.name = node_label(walk_.graph(), node);
        d.algorithm = walk_.algorithm();
        d.output = value_label(walk_.graph(), id);
        for (NodeId origin : node.origins)
            d.sources.push_back(walk_.graph().source_nodes()->at(size_t(origin)));
        d.spec = got.spec();
        d.comparison = comparison;
        d.got = figures_of(got);
        return d;
    }

    // Back from a step over all that was not compared.
    void find_suspects(size_t step, OperatorDifference& d) const {
        auto& graph = walk_.graph();
        std::set<size_t> suspects{step};
        std::set<ValueId> agreed, seen;
        std::vector<ValueId> open(walk_.node(step).inputs);
        while (!open.empty()) {
            ValueId id = open.back();
            open.pop_back();
            if (id == no_value || graph.value(id).is_constant() || !seen.insert(id).second) continue;
            NodeId producer = graph.value(id).producer;
            if (producer < 0 || is_compared_[size_t(id)]) {
                agreed.insert(id);
                continue;
            }
            // A view of memory in another shape is not a step, and cannot be wrong.
            if (int by = step_of_[size_t(producer)]; by >= 0) suspects.insert(size_t(by));
            auto& inputs = graph.node(producer).inputs;
            open.insert(open.end(), inputs.begin(), inputs.end());
        }
        d.suspects.assign(suspects.begin(), suspects.end());
        for (size_t i : suspects) d.suspect_texts.push_back(operator_text(graph, walk_.node(i)));
        for (ValueId id : agreed) d.agreed.push_back(value_label(graph, id));
    }

    // The step's own inputs if the reference lacks them.
    Tensors inputs_of_reference(size_t step, OperatorDifference::Alone& alone) {
        auto& node = walk_.node(step);
        Tensors inputs;
        for (ValueId id : node.inputs) {
            inputs.push_back(id == no_value ? Tensor{} : walk_.value(id));
            if (id == no_value || walk_.graph().value(id).is_constant()) continue;
            ++alone.inputs;
            auto* key = find_key(id);
            Tensor value = key ? reference_.load(*key) : Tensor{};
            auto& spec = inputs.back().spec();
            if (!value || !(value.shape() == spec.shape)) continue;
            if (is_float(value.dtype()) && is_float(spec.dtype)) value = convert_dtype(value, spec.dtype);
            if (value.dtype() != spec.dtype) continue;
            value = from_source_order(walk_.graph(), id, value);
            inputs.back() = in_layout(to_device(value, inputs.back().device()), spec.layout);
            ++alone.from_reference;
        }
        return inputs;
    }

    std::optional<OperatorDifference::Alone> run_alone(size_t step, size_t output, const Tensor& expected) {
        OperatorDifference::Alone alone;
        Tensors inputs = inputs_of_reference(step, alone);
        // Without inputs from the reference it would be the same run again.
        if (alone.from_reference == 0) return std::nullopt;
        Tensor again = in_source_order(walk_.graph(), walk_.node(step).outputs[output],
                                       plain_on_host(walk_.run_alone(step, inputs).at(output)));
        alone.comparison = compare_tensors(again, expected, tolerance_for(walk_.node(step).outputs[output]));
        alone.got = figures_of(again);
        return alone;
    }

    LayerWalk& walk_;
    Reference& reference_;
    const ValueKeys& keys_;
    const Tolerance& tolerance_;
    bool may_be_another_;
    std::vector<int> uses_;               // by value
    std::vector<bool> is_compared_;       // by value
    std::vector<bool> is_behind_halves_;  // by value
    bool rounds_ = false;                 // a step so far has rounded factors to bf16
    std::vector<int> step_of_;            // by node; −1: not a step
};

}  // namespace

std::map<std::string, size_t> last_uses(const LayerWalk& walk, const ValueKeys& keys) {
    std::map<std::string, size_t> result;
    for (size_t step = 0; step < walk.step_count(); ++step)
        for (auto* ids : {&walk.node(step).inputs, &walk.node(step).outputs})
            for (ValueId id : *ids)
                if (id != no_value)
                    for (auto& key : keys[size_t(id)]) result[key] = step;
    return result;
}

FirstDifference find_first_difference(LayerWalk& walk, Reference& reference, const ValueKeys& keys,
                                      const Tolerance& tolerance, bool may_be_another) {
    return Finder(walk, reference, keys, tolerance, may_be_another).find();
}

}  // namespace mge

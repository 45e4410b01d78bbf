// SPDX-License-Identifier: Apache-2.0
// Stores f32 values in half precision: constants are rounded now, values when their operator stores them.
// Inputs and outputs of the graph keep their dtype. With f16 the arithmetic stays f32 (no CPU kernel computes
// in f16), so that is switches.store_half, and switches.compute_half as far as a CPU supports it. With
// bf16, products have f32 sums: `precision` fast, if the processor has tiles or the GPU tensor cores for
// them. The rule:
//
// - Values of other dtypes are not changed, and neither are inputs for which the operator requires f32 (the
//   statistics of a batch norm, the maps of a remap).
// - Some operators compute on f32 values, with conversions around them. First, those that say
//   so (`autocast`): sums, products, powers and exponentials, which leave f16's range, regions fused with a
//   reduction, losses, inverses, gradients, the steps of optimizers, and operators that make positions
//   without inputs. Second, elementwise operators with a constant too small for the half. Third, every
//   operator that has no kernel for it, or only the reference.
// - A result that its operator computes in f32 anyway (a mean, the statistics of a norm) or by the line above
//   is stored so. Later operators continue in f32 as long as their results are not larger, up to the next
//   convolution or product: sqrt(sum(x) + 1e-12), mean(square(x)).
// - Positions stay exact: f32 values that become integers, maps or regions are computed in f32 back to the
//   convolution or product where they originate.
// - A fused elementwise program widens its inputs and rounds its result, so that its inside (including
//   constants) is f32 as before. Finite constants beyond the half become its largest numbers, not infinities.

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "libmge/device/device.h"
#include "libmge/graph/infer.h"
#include "libmge/graph/node_problem.h"
#include "libmge/graph/rewrite.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/elementwise/convert/convert.h"
#include "libmge/ops/elementwise/fused/fused.h"
#include "libmge/passes/pass.h"

namespace mge {
namespace {

// The storage type of values.
struct Format {
    DType dtype;
    double largest, smallest_normal;
};
constexpr Format f16_format{DType::f16, 65504, 0x1p-14};
constexpr Format bf16_format{DType::bf16, 0x1.fep127, 0x1p-126};

// A convolution or product: where the search for the origin of a position ends.
bool sums_in_f32(const Node& node) { return node.op->autocast == Autocast::narrow; }

bool is_f32(const Graph& graph, ValueId id) {
    return id != no_value && graph.value(id).spec.dtype == DType::f32;
}

bool is_example(const OpInfo& op, size_t i) { return input_info(op, i).is_example; }
bool keeps_dtype(const OpInfo& op, size_t i) { return !input_info(op, i).promoted; }

DType dtype_param(const Node& node) {
    auto value = find_param(node, "dtype");
    auto* name = value ? std::get_if<std::string>(&*value) : nullptr;
    return name ? dtype_from_name(*name).value_or(DType::none) : DType::none;
}

// The f32 values that have to be exact, because positions are made of them.
std::vector<bool> exact_values(const Graph& graph) {
    std::vector<bool> exact(graph.values().size());
    for (size_t i = graph.nodes().size(); i-- > 0;) {
        auto& node = graph.node(NodeId(i));
        bool makes_integers = node.op == &ops::Convert::info && is_int(dtype_param(node));
        bool is_exact = std::any_of(node.outputs.begin(), node.outputs.end(),
                                    [&](ValueId id) { return exact[size_t(id)]; });
        for (size_t k = 0; k < node.inputs.size(); ++k) {
            if (!is_f32(graph, node.inputs[k])) continue;
            bool is_position = keeps_dtype(*node.op, k) && !is_example(*node.op, k);
            if (makes_integers || is_position || (is_exact && !sums_in_f32(node)))
                exact[size_t(node.inputs[k])] = true;
        }
    }
    return exact;
}

// Rounded; finite values stay finite.
template <class H>
Tensor narrowed_to(const Format& format, const Tensor& constant) {
    std::vector<H> values(size_t(constant.spec().numel()));
    auto largest = float(format.largest);
    for (size_t i = 0; i < values.size(); ++i) {
        float x = constant.data<float>()[i];
        values[i] = H(std::isfinite(x) ? std::clamp(x, -largest, largest) : x);
    }
    return tensor_from_host({format.dtype, constant.shape(), {}}, values.data(), host_device);
}
Tensor narrowed(const Format& format, const Tensor& constant) {
    return (format.dtype == DType::f16 ? narrowed_to<Half> : narrowed_to<BFloat16>)(format, constant);
}

bool has_too_small(const Format& format, const Tensor& constant) {
    auto* values = constant.data<float>();
    return std::any_of(values, values + constant.spec().numel(),
                       [&](float x) { return x != 0 && std::abs(x) < format.smallest_normal; });
}

// The program with some of its inputs narrow now, and its result too if `rounds`. Its own steps are as
// before.
ops::FusedProgram around(const ops::FusedProgram& program, const Format& format,
                         const std::vector<bool>& is_narrow, bool rounds) {
    ops::FusedProgram result(program.inputs());
    ops::Convert::Params widen{DType::f32}, round{format.dtype};
    std::vector<int> registers;
    for (int i = 0; i < program.inputs(); ++i)
        registers.push_back(is_narrow[size_t(i)] ? result.add(ops::Convert::info, &widen, {i}) : i);
    bool may_overflow = false;
    for (auto& step : program.steps()) {
        std::vector<int> operands;
        for (int operand : step.operands) operands.push_back(registers[size_t(operand)]);
        registers.push_back(step.op ? result.add(*step.op, step.params.get(), operands)
                                    : result.constant(step.constant, step.constant_dtype));
        may_overflow = may_overflow || (!step.op && std::abs(step.constant) > format.largest);
    }
    if (!rounds) return result;
    if (may_overflow) {
        ops::Clip::Params range{-format.largest, format.largest};
        registers.push_back(result.add(ops::Clip::info, &range, {registers.back()}));
    }
    result.add(ops::Convert::info, &round, {registers.back()});
    return result;
}

class Narrowing {
public:
    Narrowing(const Graph& source, const PassOptions& options, const Format& format)
        : source_(source),
          options_(options),
          format_(format),
          exact_(exact_values(source)),
          rewrite_(source) {}

    Graph run() && {
        for (size_t i = 0; i < source_.nodes().size(); ++i) place(NodeId(i));
        std::vector<ValueId> outputs;
        for (ValueId id : source_.outputs()) outputs.push_back(in(source_.value(id).spec.dtype, id));
        Graph graph = rewrite_.finish();
        graph.set_outputs(std::move(outputs));
        for (size_t i = 0; i < graph.outputs().size(); ++i)
            graph.value(graph.outputs()[i]).name = source_.value(source_.outputs()[i]).name;
        return graph;
    }

private:
    Graph& target() { return rewrite_.target(); }
    DType dtype(ValueId target_id) { return target().value(target_id).spec.dtype; }

    ValueId converted(ValueId target_id, DType to) {
        if (dtype(target_id) == to) return target_id;
        auto& known = converted_[{target_id, to}];
        if (known == 0) {
            auto params = std::make_shared<ops::Convert::Params>(ops::Convert::Params{to});
            NodeId node = target().add_node(ops::Convert::info, params, {target_id});
            known = target().node(node).outputs[0] + 1;
        }
        return known - 1;
    }

    // A value of the source as `wanted`; others than floats as they are.
    ValueId in(DType wanted, ValueId id) {
        if (id == no_value) return id;
        auto& value = source_.value(id);
        if (value.spec.dtype != DType::f32) return rewrite_(id);
        if (value.is_constant() && wanted == format_.dtype) {
            auto [it, is_new] = constants_.try_emplace(id, no_value);
            if (is_new)
                it->second =
                    target().add_constant(narrowed(format_, value.constant), value.name, value.device);
            return it->second;
        }
        return converted(rewrite_(id), wanted);
    }
    std::vector<ValueId> in_f32(const Node& node) {
        std::vector<ValueId> inputs;
        for (ValueId id : node.inputs) inputs.push_back(in(DType::f32, id));
        return inputs;
    }
    std::vector<ValueId> in_half(const Node& node) {
        std::vector<ValueId> inputs;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            ValueId id = node.inputs[i];
            bool is_constant = id != no_value && source_.value(id).is_constant();
            if (is_example(*node.op, i) && !is_constant)
                inputs.push_back(rewrite_(id));
            else
                inputs.push_back(in(keeps_dtype(*node.op, i) ? DType::f32 : format_.dtype, id));
        }
        return inputs;
    }

    bool is_stored_wide(ValueId id) {
        return id != no_value && !source_.value(id).is_constant() && wide_.contains(rewrite_(id));
    }
    // f32 because an input is, and no larger than that.
    bool continues_in_f32(const Node& node) {
        if (sums_in_f32(node)) return false;
        auto& result = source_.value(node.outputs[0]).spec.shape;
        if (!result.is_known()) return false;
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            ValueId id = node.inputs[i];
            if (keeps_dtype(*node.op, i) || !is_stored_wide(id)) continue;
            auto& spec = source_.value(id).spec;
            if (spec.shape.is_known() && spec.numel() >= result.numel()) return true;
        }
        return false;
    }
    bool needs_f32(const Node& node) {
        if (node.op->autocast == Autocast::wide || continues_in_f32(node)) return true;
        if (std::any_of(node.outputs.begin(), node.outputs.end(),
                        [&](ValueId id) { return exact_[size_t(id)]; }) &&
            !sums_in_f32(node))
            return true;
        if (node.op == &ops::FusedElementwise::info && ends_in_f32(node)) return true;
        if (!node.op->traits.elementwise) return false;
        return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) {
            return is_f32(source_, id) && source_.value(id).is_constant() &&
                   has_too_small(format_, source_.value(id).constant);
        });
    }

    static ops::FusedProgram program_of(const Node& node) {
        return ops::FusedProgram::parse(node.as<ops::FusedElementwise::Params>().program);
    }
    static bool ends_in_f32(const Node& node) {
        return program_of(node).steps().back().op->autocast == Autocast::wide;
    }

    // Parameters of the node on halves; null if they cannot be determined.
    std::shared_ptr<const void> half_params(const Node& node) {
        auto result = node.params;
        if (auto value = find_param(node, "value"); value && std::holds_alternative<double>(*value))
            if (double x = std::get<double>(*value); std::isfinite(x) && std::abs(x) > format_.largest)
                result = with_param(*node.op, result.get(), "value",
                                    std::clamp(x, -format_.largest, format_.largest));
        DType dtype = dtype_param(node);
        if (dtype != DType::f32) return result;
        // Small integers are exact in f16, and nearly so in bf16; others count or are positions.
        if (node.op == &ops::Convert::info && size_of(source_.value(node.inputs[0]).spec.dtype) > 1)
            return nullptr;
        return with_param(*node.op, result.get(), "dtype", std::string(name_of(format_.dtype)));
    }

    // Some algorithm takes it, and not the reference alone where f32 has a better one.
    bool has_kernel(const OpInfo& op, const std::shared_ptr<const void>& params, const TensorSpecs& inputs,
                    const TensorSpecs& outputs, DeviceId device) {
        if (op.traits.view) return true;
        auto is_known = [](const TensorSpec& s) { return s.is_absent() || s.shape.is_known(); };
        for (auto* specs : {&inputs, &outputs})
            if (!std::all_of(specs->begin(), specs->end(), is_known)) return true;
        NodeProblem node(op, params,
                         {inputs, outputs, std::vector<const void*>(inputs.size()), device, device},
                         options_.threads, options_.precision);
        bool any = false, any_fast = false;
        for (auto& algorithm : node.kernels()) {
            any_fast = any_fast || !algorithm.attributes.naive;
            if (!algorithm.supports(node.problem())) continue;
            if (!algorithm.attributes.naive) return true;
            any = true;
        }
        return any && !any_fast;
    }

    // As the operator would store it; false if it does not support halves.
    bool narrow(NodeId id) {
        auto& node = source_.node(id);
        auto params = half_params(node);
        if (!params) return false;
        auto inputs = in_half(node);
        if (node.op == &ops::FusedElementwise::info) {
            std::vector<bool> is_narrow;
            for (ValueId input : node.inputs) is_narrow.push_back(is_f32(source_, input));
            auto program = around(program_of(node), format_, is_narrow, is_f32(source_, node.outputs[0]));
            params = std::make_shared<ops::FusedElementwise::Params>(
                ops::FusedElementwise::Params{program.text()});
        }
        TensorSpecs specs, recorded;
        Tensors values;
        for (ValueId input : inputs) {
            specs.push_back(input == no_value ? TensorSpec{} : target().value(input).spec);
            values.push_back(constant_of(target(), input));
        }
        for (ValueId output : node.outputs) recorded.push_back(source_.value(output).spec);
        TensorSpecs outputs;
        try {
            outputs = infer_application(*node.op, params, specs, values).outputs;
        } catch (const UserError&) {
            return false;
        }
        for (size_t i = 0; i < outputs.size(); ++i) {
            if (!outputs[i].shape.is_known()) outputs[i].shape = recorded[i].shape;
            bool may_narrow = recorded[i].dtype == DType::f32 && outputs[i].dtype == format_.dtype;
            bool agrees = outputs[i].shape == recorded[i].shape &&
                          (outputs[i].dtype == recorded[i].dtype || may_narrow);
            if (!agrees) return false;
        }
        if (!has_kernel(*node.op, params, specs, outputs, source_.place(node))) return false;
        add(id, std::move(params), std::move(inputs), outputs);
        return true;
    }

    void add(NodeId id, std::shared_ptr<const void> params, std::vector<ValueId> inputs,
             const TensorSpecs& outputs) {
        auto& node = source_.node(id);
        NodeId added = target().add_node(*node.op, std::move(params), std::move(inputs), node.name, &outputs,
                                         &source_.place(node));
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            ValueId output = target().node(added).outputs[i];
            rewrite_.replace(node.outputs[i], output);
            if (outputs[i].dtype == DType::f32) wide_.insert(output);
        }
    }

    void place(NodeId id) {
        auto& node = source_.node(id);
        auto any_f32 = [&](auto& ids) {
            return std::any_of(ids.begin(), ids.end(), [&](ValueId v) { return is_f32(source_, v); });
        };
        if (!any_f32(node.inputs) && !any_f32(node.outputs)) return rewrite_.copy(id);
        if (!needs_f32(node)) {
            bool is_plain_convert = node.op == &ops::Convert::info && dtype_param(node) == DType::f32;
            DType from = is_plain_convert ? source_.value(node.inputs[0]).spec.dtype : DType::none;
            if (from == format_.dtype || from == DType::f32) {
                ValueId value =
                    from == DType::f32 ? in(format_.dtype, node.inputs[0]) : rewrite_(node.inputs[0]);
                return rewrite_.replace(node.outputs[0], value);
            }
            if (narrow(id)) return;
        }
        TensorSpecs outputs;
        for (ValueId output : node.outputs) outputs.push_back(source_.value(output).spec);
        add(id, node.params, in_f32(node), outputs);
    }

    const Graph& source_;
    const PassOptions& options_;
    const Format& format_;
    std::vector<bool> exact_;  // by value of the source
    Rewrite rewrite_;
    std::map<std::pair<ValueId, DType>, ValueId> converted_;  // the result plus 1
    std::map<ValueId, ValueId> constants_;                    // constants of the source, in the format
    std::set<ValueId> wide_;                                  // values of the target that are f32 on purpose
};

// Unused conversions and constants stay behind when an operator turns out to need f32.
Graph stored_as(const Format& format, const Graph& graph, const PassOptions& options) {
    return remove_dead_nodes(Narrowing(graph, options, format).run(), options);
}

}  // namespace

Graph store_as_f16(Graph graph, const PassOptions& options) { return stored_as(f16_format, graph, options); }

Graph store_as_bf16(Graph graph, const PassOptions& options) {
    return stored_as(bf16_format, graph, options);
}

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#include "libmge/passes/node_problem.h"

#include <algorithm>
#include <array>

#include "libmge/device/device.h"
#include "libmge/kernel/lookups.h"
#include "libmge/op/backend.h"
#include "libmge/passes/rewrite.h"

namespace mge {
namespace {

constexpr size_t constant_bits = 32;  // of Problem::constant_inputs

constexpr std::array<std::string_view, 4> reductions{"sum", "mean", "max", "min"};

// One digit of a layout for a given shape.
struct Digit {
    int axis;
    int64_t extent;
};

bool has_layout(const TensorSpecs& specs) {
    return std::any_of(specs.begin(), specs.end(), [](auto& s) { return !s.layout.is_plain(); });
}

// The digits of a shape in memory order; nullopt when an extent is no multiple of its blocks. Axes of extent
// 1 stay 1 whatever the block: that is how they are broadcast.
std::optional<std::vector<Digit>> digits_of(const Shape& shape, const Layout& layout) {
    std::vector<Digit> digits;
    for (int i = 0; i < layout.size(); ++i) {
        auto [axis, block] = layout[i];
        if (axis >= shape.rank()) return std::nullopt;
        int64_t extent = shape[axis], blocks = 1;
        for (int k = 0; k < layout.size(); ++k)
            if (layout[k].axis == axis && layout[k].block) blocks *= layout[k].block;
        if (extent == 1) {
            digits.push_back({axis, 1});
            continue;
        }
        if (extent % blocks != 0) return std::nullopt;
        digits.push_back({axis, block ? int64_t(block) : extent / blocks});
    }
    return digits;
}

Shape shape_of_digits(const std::vector<Digit>& digits) {
    Shape shape;
    for (auto& digit : digits) shape.push_back(digit.extent);
    return shape;
}

// A plain tensor with these digits lies in memory just as one in the layout does.
bool is_also_plain(const std::vector<Digit>& digits) {
    int last = -1;
    for (auto& digit : digits) {
        if (digit.extent == 1) continue;
        if (digit.axis < last) return false;
        last = digit.axis;
    }
    return true;
}

Shape aligned_right(const Shape& shape, int rank) {
    Shape result;
    for (int i = 0; i < rank - shape.rank(); ++i) result.push_back(1);
    for (int64_t extent : shape) result.push_back(extent);
    return result;
}

std::optional<TensorSpec> physical_spec(const TensorSpec& spec, const Layout& layout, int rank) {
    if (spec.is_absent()) return spec;
    if (spec.shape.rank() > rank || (!spec.layout.is_plain() && !(spec.layout == layout)))
        return std::nullopt;
    auto digits = digits_of(aligned_right(spec.shape, rank), layout);
    if (!digits || int(digits->size()) > max_rank) return std::nullopt;
    if (spec.layout.is_plain() && !is_also_plain(*digits)) return std::nullopt;
    return TensorSpec{spec.dtype, shape_of_digits(*digits), {}};
}

std::optional<TensorSpecs> physical_specs(const TensorSpecs& specs, const Layout& layout, int rank) {
    TensorSpecs result;
    for (auto& spec : specs) {
        auto physical = physical_spec(spec, layout, rank);
        if (!physical) return std::nullopt;
        result.push_back(*physical);
    }
    return result;
}

// Position of the digit that counts whole blocks of an axis.
int outer_digit(const Layout& layout, int axis) {
    for (int i = 0; i < layout.size(); ++i)
        if (layout[i].axis == axis && !layout[i].block) return i;
    return -1;
}

// Joining and splitting along an axis moves whole blocks.
std::optional<PhysicalForm> joined_form(const OpInfo& op, const void* params, const Layout& layout,
                                        const TensorSpecs& inputs, const TensorSpecs& outputs) {
    int rank = inputs[0].shape.rank();
    auto all = inputs;
    all.insert(all.end(), outputs.begin(), outputs.end());
    for (auto& spec : all)
        if (!(spec.layout == layout) || spec.shape.rank() != rank) return std::nullopt;
    auto in = physical_specs(inputs, layout, rank), out = physical_specs(outputs, layout, rank);
    Node node{&op, std::shared_ptr<const void>(std::shared_ptr<void>(), params), {}, {}, {}};
    int axis = normalize_axis(op.name, std::get<int64_t>(*find_param(node, "axis")), rank);
    if (!in || !out) return std::nullopt;
    int digit = outer_digit(layout, axis);
    auto changed = with_param(op, params, "axis", int64_t(digit));
    // A split counts in elements of its axis; its parts have to be whole blocks.
    if (op.name == "split") {
        IntList sizes;
        for (auto& spec : *out) sizes.push_back(spec.shape[digit]);
        changed = with_param(op, changed.get(), "sizes", sizes);
    }
    for (auto& specs : {*in, *out})
        for (size_t i = 0; i < specs.size(); ++i)
            for (int d = 0; d < layout.size(); ++d)
                // An extent of 1 hides how large the block is.
                if (layout[d].axis == axis && layout[d].block && specs[i].shape[d] != layout[d].block)
                    return std::nullopt;
    return PhysicalForm{changed, *in, *out};
}

// Reducing an axis reduces all of its digits; what remains has to lie as in a plain tensor.
std::optional<PhysicalForm> reduced_form(const OpInfo& op, const void* params, const Layout& layout,
                                         const TensorSpecs& inputs, const TensorSpecs& outputs) {
    auto& x = inputs[0];
    auto digits = digits_of(x.shape, layout);
    Node node{&op, std::shared_ptr<const void>(std::shared_ptr<void>(), params), {}, {}, {}};
    auto axes = find_param(node, "axes");
    if (!digits || !axes || !outputs[0].layout.is_plain()) return std::nullopt;
    std::array<bool, max_rank> is_reduced{};
    for (int64_t axis : std::get<IntList>(*axes))
        is_reduced[size_t(normalize_axis(op.name, axis, x.shape.rank()))] = true;
    if (std::get<IntList>(*axes).empty()) is_reduced.fill(true);
    IntList physical_axes;
    std::vector<Digit> remaining;
    for (size_t i = 0; i < digits->size(); ++i) {
        if (is_reduced[size_t((*digits)[i].axis)])
            physical_axes.push_back(int64_t(i));
        else
            remaining.push_back((*digits)[i]);
    }
    if (!is_also_plain(remaining)) return std::nullopt;
    auto changed = with_param(op, params, "axes", physical_axes);
    changed = with_param(op, changed.get(), "keepdims", false);
    return PhysicalForm{changed,
                        {{x.dtype, shape_of_digits(*digits), {}}},
                        {{outputs[0].dtype, shape_of_digits(remaining), {}}}};
}

}  // namespace

DeviceId running_place(const Graph& graph, const Node& node) {
    return node.op->place ? graph.value(node.inputs.at(0)).device : graph.place(node);
}

const void* address_for(DeviceId device, const Tensor& constant) {
    return constant.device().is_host() == device.is_host() ? constant.address() : nullptr;
}

Operands operands_of(const Graph& graph, const Node& node, bool packs) {
    Operands result{.device = running_place(graph, node), .output_device = graph.place(node)};
    for (ValueId id : node.inputs) {
        result.inputs.push_back(id == no_value ? TensorSpec{} : graph.value(id).spec);
        Tensor constant = id == no_value ? Tensor{} : graph.value(id).constant;
        result.constants.push_back(constant && packs ? address_for(result.device, constant) : nullptr);
    }
    for (ValueId id : node.outputs) result.outputs.push_back(graph.value(id).spec);
    return result;
}

std::optional<PhysicalForm> physical_form(const OpInfo& op, const std::shared_ptr<const void>& params,
                                          const TensorSpecs& inputs, const TensorSpecs& outputs) {
    auto it = std::find_if(inputs.begin(), inputs.end(), [](auto& s) { return !s.layout.is_plain(); });
    if (it == inputs.end()) return std::nullopt;
    const Layout& layout = it->layout;
    if (op.traits.elementwise) {
        int rank = outputs[0].shape.rank();
        for (auto& spec : outputs)
            if (!(spec.layout == layout)) return std::nullopt;
        auto in = physical_specs(inputs, layout, rank), out = physical_specs(outputs, layout, rank);
        return in && out ? std::optional(PhysicalForm{params, *in, *out}) : std::nullopt;
    }
    if (op.name == "concat" || op.name == "split")
        return joined_form(op, params.get(), layout, inputs, outputs);
    if (std::find(reductions.begin(), reductions.end(), op.name) != reductions.end())
        return reduced_form(op, params.get(), layout, inputs, outputs);
    return std::nullopt;
}

NodeProblem::NodeProblem(const OpInfo& op, std::shared_ptr<const void> params, Operands operands, int threads,
                         Precision precision)
    : op_(op),
      params_(std::move(params)),
      operands_(std::move(operands)),
      threads_(threads),
      precision_(precision) {
    if (has_layout(operands_.inputs))
        if (auto form = physical_form(op, params_, operands_.inputs, operands_.outputs)) {
            params_ = form->params;
            operands_.inputs = std::move(form->inputs);
            operands_.outputs = std::move(form->outputs);
        }
    auto& constants = operands_.constants;
    for (size_t i = 0; i < constants.size(); ++i) {
        if (i >= constant_bits) constants[i] = nullptr;
        if (constants[i]) constant_mask_ |= 1u << i;
    }
}

Problem NodeProblem::problem() const {
    return {op_.name,       params_.get(),    op_.fields, operands_.inputs, operands_.outputs,
            constant_mask_, operands_.device, threads_,   precision_,       operands_.output_device};
}

KernelList NodeProblem::kernels() const { return find_kernels(op_, operands_.device); }

Choice NodeProblem::choose(const SelectOptions& options) const {
    return select(kernels(), problem(), operands_.constants, options);
}

std::optional<Cost> NodeProblem::find_cost(const SelectOptions& options) const {
    return mge::find_cost(kernels(), problem(), operands_.constants, options);
}

std::optional<size_t> NodeProblem::find_heuristic_workspace(const SelectOptions& options) const {
    return mge::find_heuristic_workspace(kernels(), problem(), options);
}

bool NodeProblem::is_accepted(const NamedCandidate& named, const SelectOptions& options) const {
    auto& attributes = named.candidate.attributes;
    if (attributes.naive || (options.reproducible && !attributes.reproducible)) return false;
    // Only a prepared algorithm knows its workspace.
    return options.workspace_limit == SIZE_MAX ||
           named.algorithm->prepare({problem(), named.candidate, operands_.constants}).workspace() <=
               options.workspace_limit;
}

bool NodeProblem::is_supported(const SelectOptions& options) const {
    auto accepts_one = [&](const auto& candidates) {
        return std::ranges::any_of(candidates, [&](auto& named) { return is_accepted(named, options); });
    };
    if (options.lookups) return accepts_one(options.lookups->candidates(kernels(), problem()));
    return accepts_one(list_candidates(kernels(), problem()));
}

}  // namespace mge

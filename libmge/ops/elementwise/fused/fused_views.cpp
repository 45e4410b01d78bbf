// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/fused/fused_views.h"

#include <algorithm>
#include <map>
#include <set>

#include "libmge/ops/shape/layout/transpose.h"

namespace mge::ops {
namespace {

constexpr size_t max_views = 4;

bool is_transpose(const FusedProgram::Step& step) { return step.op == &Transpose::info; }

// The axes of extent 1 repeat, whatever they are called.
AxisView without_single_axes(AxisView view, const Shape& shape) {
    for (int& axis : view)
        if (axis != no_axis && shape[axis] == 1) axis = no_axis;
    return view;
}

// An operand as seen by whoever sees a step's result through `view`.
AxisView view_of_operand(const FusedProgram::Step& step, const AxisView& view, const Shape& result,
                         const Shape& operand) {
    AxisView seen = view;
    if (is_transpose(step)) {
        auto axes = transpose_axes(*static_cast<const Transpose::Params*>(step.params.get()), operand.rank());
        for (int& axis : seen)
            if (axis != no_axis) axis = axes[size_t(axis)];
    } else {
        for (int& axis : seen)
            if (axis != no_axis) axis = std::max(no_axis, axis - (result.rank() - operand.rank()));
    }
    return without_single_axes(std::move(seen), operand);
}

// By register: the views that are needed of it; none of those that nothing needs, and no more than one too
// many.
std::vector<std::set<AxisView>> needed_views(const FusedProgram& program, const TensorSpecs& specs) {
    std::vector<std::set<AxisView>> views(specs.size());
    AxisView whole;
    for (int axis = 0; axis < specs.back().shape.rank(); ++axis) whole.push_back(axis);
    views.back().insert(without_single_axes(whole, specs.back().shape));
    for (size_t i = specs.size(); i-- > size_t(program.inputs());) {
        auto& step = program.steps()[i - size_t(program.inputs())];
        for (int operand : step.operands)
            for (auto& view : views[i])
                if (auto& of_operand = views[size_t(operand)]; of_operand.size() <= max_views)
                    of_operand.insert(
                        view_of_operand(step, view, specs[i].shape, specs[size_t(operand)].shape));
    }
    return views;
}

}  // namespace

Support supports_views(const FusedProgram& program, const TensorSpecs& specs) {
    for (auto& views : needed_views(program, specs))
        if (views.size() > max_views) return {"a value is read along too many orders of axes"};
    return supported;
}

std::vector<ViewedRegister> viewed_registers(const FusedProgram& program, const TensorSpecs& specs) {
    std::vector<ViewedRegister> result;
    std::vector<std::map<AxisView, int>> numbers(specs.size());  // by register of the program
    auto views = needed_views(program, specs);
    for (size_t i = 0; i < specs.size(); ++i)
        for (auto& view : views[i]) {
            std::vector<int> operands;
            bool is_step = i >= size_t(program.inputs());
            auto* step = is_step ? &program.steps()[i - size_t(program.inputs())] : nullptr;
            if (step)
                for (int operand : step->operands) {
                    auto& shape = specs[size_t(operand)].shape;
                    operands.push_back(
                        numbers[size_t(operand)].at(view_of_operand(*step, view, specs[i].shape, shape)));
                }
            if (step && is_transpose(*step)) {  // read along other axes
                numbers[i][view] = operands[0];
                continue;
            }
            numbers[i][view] = int(result.size());
            result.push_back({i, view, std::move(operands)});
        }
    return result;
}

Strides strides_through(const AxisView& view, const Shape& shape) {
    Strides own = dense_strides(shape), seen{};
    for (size_t axis = 0; axis < view.size(); ++axis)
        seen[axis] = view[axis] == no_axis ? 0 : own[size_t(view[axis])];
    return seen;
}

}  // namespace mge::ops

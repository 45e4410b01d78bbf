// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/deformable_roi_pool2d.h"

#include "libmge/ops/vision/deformable_pooling.h"

namespace mge::ops {

namespace {

void check_size(std::string_view who, std::string_view field, int64_t value) {
    constexpr int64_t largest = 1 << 12;
    if (value < 1 || value > largest)
        throw_value_error(who, field, " is ", value, ", expected 1 … ", largest);
}

Shape result_shape(std::string_view who, const DeformableRoiPoolParams& p, const TensorSpec& x,
                   const TensorSpec& regions, const TensorSpec* offsets) {
    check_size(who, "height", p.height);
    check_size(who, "width", p.width);
    check_size(who, "samples", p.samples);
    if (x.dtype != DType::f32 || x.shape.rank() != 4)
        throw_user(who, text("x must be float32 of shape (N, C, H, W), got ", x));
    if (regions.dtype != DType::f32 || regions.shape.rank() != 2 || regions.shape[1] != 5)
        throw_user(who, text("regions must be float32 of shape (R, 5), got ", regions));
    int64_t count = regions.shape[0];
    if (offsets) {
        auto& shape = offsets->shape;
        bool fits =
            shape.rank() == 4 && shape[0] == count && shape[1] == 2 && shape[2] == shape[3] && shape[2] > 0;
        if (offsets->dtype != DType::f32 || !fits)
            throw_user(
                who, text("offsets must be float32 of shape (", count, ", 2, parts, parts), got ", *offsets));
    }
    return {count, x.shape[1], p.height, p.width};
}

const TensorSpec* given(Specs in, size_t i) { return i < in.size() && !in[i].is_absent() ? &in[i] : nullptr; }

}  // namespace

TensorSpecs DeformableRoiPool2d::infer(const Params& p, Specs in) {
    return {{DType::f32, result_shape(name, p, in[0], in[1], given(in, 2)), {}}};
}

Tensors DeformableRoiPool2d::gradient(const GradientContext<Params>& g) {
    Tensors d = deformable_roi_pool2d_backward(g.input("x"), g.input("regions"), g.output_grad(),
                                               g.input("offsets"), g.params);
    if (!g.input("offsets")) return g.result({{"x", d[0]}});
    return g.result({{"x", d[0]}, {"offsets", d[1]}});
}

TensorSpecs DeformableRoiPool2dBackward::infer(const Params& p, Specs in) {
    auto* offsets = given(in, 3);
    Shape y = result_shape(name, p, in[0], in[1], offsets);
    if (in[2].shape != y || in[2].dtype != DType::f32)
        throw_user(name, text("dy must be float32 of shape ", y, ", got ", in[2]));
    return {in[0], offsets ? *offsets : TensorSpec{DType::f32, {0}, {}}};
}

DeformablePooling deformable_pooling(const Problem& problem, size_t offsets) {
    auto& p = problem.as<DeformableRoiPoolParams>();
    auto& x = problem.inputs[0].shape;
    return {.images = x[0],
            .channels = x[1],
            .height = x[2],
            .width = x[3],
            .regions = problem.inputs[1].shape[0],
            .parts = problem.has_input(offsets) ? problem.inputs[offsets].shape[2] : 0,
            .rows = p.height,
            .columns = p.width,
            .samples = p.samples,
            .scale = float(p.scale),
            .offset_scale = float(p.offset_scale)};
}

}  // namespace mge::ops

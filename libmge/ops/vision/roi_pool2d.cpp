// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/roi_pool2d.h"

namespace mge::ops {

namespace {

Shape result_shape(std::string_view who, const RoiPoolParams& p, const TensorSpec& x,
                   const TensorSpec& regions) {
    if (!is_float(x.dtype)) throw_type_error(who, "x must be floating, got ", x.dtype);
    if (x.shape.rank() != 4)
        throw_user(who, text("x must have shape (N, C, H, W), got ", x.shape), ErrorClass::runtime);
    if (regions.dtype != DType::f32) throw_type_error(who, "regions must be float32, got ", regions.dtype);
    if (regions.shape.rank() != 2 || !can_be_equal(who, regions.shape.extent(1), 5))
        throw_user(who, text("regions must have shape (R, 5), got ", regions.shape), ErrorClass::runtime);
    constexpr int64_t largest = int64_t(1) << 24;
    if (p.height < 1 || p.width < 1 || p.height > largest || p.width > largest)
        throw_user(who,
                   text("height and width must be in [1, ", largest, "], got ", p.height, " and ", p.width));
    Shape y;
    for (const Extent& extent :
         {regions.shape.extent(0), x.shape.extent(1), Extent(p.height), Extent(p.width)})
        y.push_back(extent);
    return y;
}

}  // namespace

TensorSpecs RoiPool2d::infer(const Params& p, Specs in) {
    return {{in[0].dtype, result_shape(name, p, in[0], in[1]), {}}};
}

Tensors RoiPool2d::gradient(const GradientContext<Params>& g) {
    return g.result(
        {{"x", roi_pool2d_backward(g.input("x"), g.input("regions"), g.output_grad(), g.params)}});
}

TensorSpecs RoiPool2dBackward::infer(const Params& p, Specs in) {
    Shape y = result_shape(name, p, in[0], in[1]);
    if (!can_be_same(name, in[2].shape, y) || in[2].dtype != in[0].dtype)
        throw_user(name, text("dy must be ", in[0].dtype, " of shape ", y, ", got ", in[2].dtype,
                              " of shape ", in[2].shape));
    return {{in[0].dtype, in[0].shape, {}}};
}

}  // namespace mge::ops

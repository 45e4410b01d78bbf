// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/vision/remap.h"

namespace mge::ops {

namespace {

const TensorSpec& spec_or_empty(Specs in, size_t i) {
    static const TensorSpec none{};
    return i < in.size() ? in[i] : none;
}

// Checks x, map and image; returns the shape of y.
Shape result_shape(std::string_view who, const TensorSpec& x, const TensorSpec& map,
                   const TensorSpec& image) {
    if (x.shape.rank() != 4)
        throw_user(who, text("x must have shape (N, C, H, W), got ", x.shape), ErrorClass::runtime);
    if (map.dtype != DType::f32) throw_type_error(who, "map must be float32, got ", map.dtype);
    if (map.shape.rank() != 4 || !can_be_equal(who, map.shape.extent(3), 2))
        throw_user(who, text("map must have shape (M, OH, OW, 2), got ", map.shape), ErrorClass::runtime);
    Extent images = map.shape.extent(0);
    Shape vector;
    vector.push_back(images);
    if (image.is_absent()) {
        if (!can_be_equal(who, images, x.shape.extent(0)))
            throw_user(who, text("map ", map.shape, " must have one map for each image of x ", x.shape,
                                 ", or `image` must be given"));
    } else {
        if (image.dtype != DType::i32) throw_type_error(who, "image must be int32, got ", image.dtype);
        if (!can_be_same(who, image.shape, vector))
            throw_user(who, text("image must have shape ", vector, ", got ", image.shape));
    }
    Extent pixels = x.shape.extent(2) * x.shape.extent(3);
    if (!is_equal(map.shape.elements(), 0).value_or(false) && !can_be_at_least(who, pixels, 1))
        throw_user(who, text("the images of x ", x.shape, " have no pixels"));
    Shape y = map.shape;
    y.erase(3);
    y.insert(1, x.shape.extent(1));
    return y;
}

void check_gradient_inputs(std::string_view who, const TensorSpec& dy, const Shape& y) {
    if (!can_be_same(who, dy.shape, y)) throw_user(who, text("dy must have shape ", y, ", got ", dy.shape));
    if (!is_float(dy.dtype)) throw_type_error(who, "dy must be floating, got ", dy.dtype);
}

}  // namespace

TensorSpecs Remap::infer(const Params&, Specs in) {
    if (!is_float(in[0].dtype) && in[0].dtype != DType::u8 && in[0].dtype != DType::i8)
        throw_type_error(name, "x must be floating, uint8 or int8, got ", in[0].dtype);
    return {{in[0].dtype, result_shape(name, in[0], in[1], spec_or_empty(in, 2)), {}}};
}

Tensors Remap::gradient(const GradientContext<Params>& g) {
    const Tensor &x = g.input("x"), &map = g.input("map"), &image = g.input("image"), &dy = g.output_grad();
    if (!is_float(x.dtype())) return g.result({});
    Tensor dx = g.needs("x") ? remap_backward_data(x, map, dy, image, g.params) : Tensor();
    Tensor dmap = g.needs("map") ? remap_backward_map(x, map, dy, image, g.params) : Tensor();
    return g.result({{"x", dx}, {"map", dmap}});
}

TensorSpecs RemapBackwardData::infer(const Params&, Specs in) {
    check_gradient_inputs(name, in[2], result_shape(name, in[0], in[1], spec_or_empty(in, 3)));
    return {{in[2].dtype, in[0].shape, {}}};
}

// Σ v·dx = Σ remap(v)·dy, where v is 0 outside of the images.
Tensors RemapBackwardData::gradient(const GradientContext<Params>& g) {
    const Tensor &v = g.output_grad(), &map = g.input("map"), &image = g.input("image");
    Params p = g.params;
    p.value = 0;
    Tensor dmap = g.needs("map") ? remap_backward_map(v, map, g.input("dy"), image, p) : Tensor();
    return g.result({{"dy", remap(v, map, image, p)}, {"map", dmap}});
}

TensorSpecs RemapBackwardMap::infer(const Params&, Specs in) {
    check_gradient_inputs(name, in[2], result_shape(name, in[0], in[1], spec_or_empty(in, 3)));
    if (in[0].dtype != in[2].dtype)
        throw_type_error(name, "dy must be ", in[0].dtype, " like x, got ", in[2].dtype);
    return {{DType::f32, in[1].shape, {}}};
}

// Four pixels, each with its weight.
double Remap::operations(const Params& p, Specs, Specs out) {
    return element_count(out) * (p.interpolation == Interpolation::linear ? 7 : 1);
}
double RemapBackwardData::operations(const Params& p, Specs in, Specs) {
    return element_count(in[2]) * (p.interpolation == Interpolation::linear ? 8 : 1);
}
// Two slopes, of two differences each.
double RemapBackwardMap::operations(const Params& p, Specs in, Specs out) {
    return p.interpolation == Interpolation::linear ? 14 * element_count(in[2]) : element_count(out);
}

}  // namespace mge::ops

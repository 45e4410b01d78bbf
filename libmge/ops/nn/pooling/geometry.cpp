// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/nn/pooling/geometry.h"

#include "libmge/base/error.h"

namespace mge::ops {
namespace {

std::string text_of(Pair pair) { return text('(', pair[0], ", ", pair[1], ')'); }

void check_images(std::string_view who, const Shape& x) {
    if (x.rank() != 4) throw_user(who, text("x must have shape (N, C, H, W), got ", x), ErrorClass::runtime);
}

void check_window(std::string_view who, Pair kernel, Pair stride, Pair padding) {
    for (size_t i = 0; i < 2; ++i) {
        if (kernel[i] < 1 || stride[i] < 1)
            throw_user(who, text("kernel and stride must be positive, got ", text_of(kernel), " and ",
                                 text_of(stride)));
        if (padding[i] < 0 || padding[i] >= kernel[i])
            throw_user(who, text("padding must be at least 0 and smaller than the kernel ", text_of(kernel),
                                 ", got ", text_of(padding)));
    }
}

}  // namespace

Shape pool_shape(std::string_view who, const Shape& x, Pair kernel, Pair stride, Pair padding) {
    check_images(who, x);
    check_window(who, kernel, stride, padding);
    Shape y = x;
    for (int i : {0, 1}) {
        // Huge values would overflow the sums below and are nonsense anyway.
        constexpr int64_t largest = int64_t(1) << 40;
        Extent in = x.extent(2 + i);
        if (kernel[i] > largest || in.lower() > largest ||
            !can_be_at_least(who, in + 2 * padding[i], kernel[i]))
            throw_user(who, text("kernel ", text_of(kernel), " is larger than x of shape ", x,
                                 " with padding ", text_of(padding)));
        y.set(2 + i, floor_div(in + 2 * padding[i] - kernel[i], stride[i]) + 1);
    }
    return y;
}

PoolGeometry pool_geometry(std::string_view who, const Shape& x, Pair kernel, Pair stride, Pair padding) {
    Shape y = pool_shape(who, x, kernel, stride, padding);
    return {x[0], x[1], {x[2], x[3]}, {y[2], y[3]}, kernel, stride, padding};
}

Shape adaptive_pool_shape(std::string_view who, const Shape& x, Pair out) {
    check_images(who, x);
    Shape y = x;
    for (int i : {0, 1}) {
        if (out[i] < 1 || !can_be_at_least(who, x.extent(2 + i), out[i]))
            throw_user(who, text("the output size must be at least 1 and at most that of x of shape ", x,
                                 ", got ", text_of(out)));
        y.set(2 + i, out[i]);
    }
    return y;
}

PoolGeometry adaptive_pool_geometry(std::string_view who, const Shape& x, Pair out) {
    adaptive_pool_shape(who, x, out);
    PoolGeometry g{x[0], x[1], {x[2], x[3]}, out, {}, {}, {0, 0}};
    for (size_t i = 0; i < 2; ++i) {
        g.stride[i] = g.in[i] / out[i];
        g.kernel[i] = g.in[i] - (out[i] - 1) * g.stride[i];
    }
    return g;
}

void check_pool_input(std::string_view who, std::string_view input, const TensorSpec& spec,
                      const TensorSpec& expected) {
    if (!can_be_same(who, spec.shape, expected.shape))
        throw_user(who, text(input, " must have shape ", expected.shape, ", got ", spec.shape));
    if (spec.dtype != expected.dtype)
        throw_type_error(who, input, " must be ", expected.dtype, " as x, got ", spec.dtype);
}

void check_pool_dtype(std::string_view who, const TensorSpec& x) {
    if (!is_float(x.dtype)) throw_type_error(who, "x must be floating, got ", x.dtype);
}

}  // namespace mge::ops

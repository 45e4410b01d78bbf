// SPDX-License-Identifier: Apache-2.0
// Colours of images (N, H, W, C), f32 from 0 to 1 or u8. Integers are computed in fixed point, so that every
// bit is MegEngine's.

#include <algorithm>
#include <cmath>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/numbers.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/bits.h"
#include "libmge/ops/elementwise/clip.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/shape/concat.h"

namespace mge::megengine {
namespace {

constexpr int places = 14;  // binary, of an integer's fraction
// Coefficients of Y, U and V (ITU-R BT.601).
constexpr double red_share = 0.299, green_share = 0.587, blue_share = 0.114;
constexpr double to_u = 0.492, to_v = 0.877, u_to_blue = 2.032, u_to_green = -0.395, v_to_green = -0.581,
                 v_to_red = 1.140;

struct Term {
    Tensor value;
    double weight;
};

// Sum of value * weight; of integers rounded to the nearest.
Tensor weighted(std::initializer_list<Term> terms) {
    bool is_whole = !is_float(terms.begin()->value.dtype());
    Tensor sum;
    for (auto& [value, weight] : terms) {
        Tensor part =
            ops::mul(value, number(value, is_whole ? std::nearbyint(weight * (1 << places)) : weight));
        sum = sum ? ops::add(sum, part) : part;
    }
    if (!is_whole) return sum;
    return ops::right_shift(ops::add(sum, number(sum, 1 << (places - 1))), number(sum, places));
}

Tensor brightness(const Tensor& red, const Tensor& green, const Tensor& blue) {
    return weighted({{red, red_share}, {green, green_share}, {blue, blue_share}});
}

using Compute = Tensors (*)(const Tensors& channels, const Tensor& middle);

Tensors grey(const Tensors& c, const Tensor&) { return {brightness(c[0], c[1], c[2])}; }
Tensors grey_of_bgr(const Tensors& c, const Tensor&) { return {brightness(c[2], c[1], c[0])}; }

// MegEngine's RGB2YUV and YUV2RGB take channel 0 for blue.
Tensors to_yuv(const Tensors& c, const Tensor& middle) {
    Tensor y = brightness(c[2], c[1], c[0]);
    return {y, ops::add(weighted({{ops::sub(c[0], y), to_u}}), middle),
            ops::add(weighted({{ops::sub(c[2], y), to_v}}), middle)};
}
Tensors from_yuv(const Tensors& c, const Tensor& middle) {
    Tensor u = ops::sub(c[1], middle), v = ops::sub(c[2], middle);
    return {ops::add(c[0], weighted({{u, u_to_blue}})),
            ops::add(c[0], weighted({{u, u_to_green}, {v, v_to_green}})),
            ops::add(c[0], weighted({{v, v_to_red}}))};
}

Tensor computed(const Tensor& x, int64_t channels, Compute compute) {
    bool is_whole = x.dtype() == DType::u8;
    Tensor wide = is_whole ? convert_dtype(x, DType::i32) : x;
    Tensors parts;
    for (int64_t i = 0; i < channels; ++i) parts.push_back(cut(wide, 3, i, i + 1));
    Tensors results = compute(parts, number(wide, is_whole ? 128 : 0.5));
    Tensor y = results.size() == 1 ? results[0] : ops::concat(TensorList(results), {.axis = 3});
    return is_whole ? convert_dtype(ops::clip(y, {.lower = 0, .upper = 255}), DType::u8) : y;
}

struct Conversion {
    uint32_t number;
    int64_t channels;
    IntList order;  // channels of the result, as indices of the input's
    Compute compute = nullptr;
};

const Conversion* find_conversion(uint32_t number) {
    static const Conversion conversions[] = {
        {0, 3, {}, grey},        {1, 3, {}, to_yuv}, {2, 3, {}, from_yuv}, {3, 1, {0, 0, 0}},
        {4, 4, {0, 1, 2}},       {5, 4, {2, 1, 0}},  {6, 4, {}, grey},     {7, 3, {2, 1, 0}},
        {8, 3, {}, grey_of_bgr}, {9, 3, {2, 1, 0}},
    };
    auto found = std::ranges::find(conversions, number, &Conversion::number);
    return found == std::end(conversions) ? nullptr : found;
}

}  // namespace

Tensors import_colours(const Site& site) {
    uint32_t number = site.params<file::CvtColor>().mode();
    const Tensor& x = site.in(0);
    auto* mode = find_conversion(number);
    if (!mode) unsupported("colour conversion ", number);
    if (x.dtype() != DType::f32 && x.dtype() != DType::u8) unsupported("colours of ", x.dtype());
    if (rank_of(x) != 4 || x.shape()[3] != mode->channels)
        invalid("images of shape ", x.shape(), ", expected ", counted(mode->channels, "channel"));
    if (mode->compute) return {computed(x, mode->channels, mode->compute)};
    std::vector<int32_t> order(mode->order.begin(), mode->order.end());
    Tensor index = tensor_from_host({DType::i32, {int64_t(order.size())}, {}}, order.data(), host_device);
    return {ops::take({x, index}, {.axes = {3}})};
}

}  // namespace mge::megengine

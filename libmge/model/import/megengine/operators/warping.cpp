// SPDX-License-Identifier: Apache-2.0
// Images seen through a map of places: given pixel by pixel, or as a matrix per image.

#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/model/import/megengine/numbers.h"
#include "libmge/op/apply.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/layout/transpose.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/vision/remap.h"

namespace mge::megengine {
namespace {

enum ChannelOrder : uint32_t { channels_first, channels_last };

ops::Interpolation interpolation_of(uint32_t mode) {
    enum : uint32_t { nearest, linear };
    if (mode > linear) unsupported("interpolation mode ", mode);
    return mode == nearest ? ops::Interpolation::nearest : ops::Interpolation::linear;
}

ops::Border border_of(uint32_t mode) {
    using enum ops::Border;
    constexpr ops::Border borders[] = {replicate, reflect, reflect_101, wrap, constant};
    if (mode >= std::size(borders)) unsupported("border mode ", mode);
    return borders[mode];
}

// Common part of the three operators; `image` selects the image of a map, null: one map per image.
Tensor seen_through(const Tensor& x, const Tensor& map, const Tensor& image, uint32_t format,
                    const ops::RemapParams& p) {
    if (rank_of(x) != 4) invalid("images of rank ", rank_of(x));
    if (format > channels_last) unsupported("images in the format ", format);
    if (!is_float(x.dtype()) && x.dtype() != DType::u8) unsupported("images of ", x.dtype());
    Tensor images = format == channels_last ? ops::transpose(x, {.pattern = {0, 3, 1, 2}}) : x;
    Tensor y = ops::remap(images, convert_dtype(map, DType::f32), image, p);
    return format == channels_last ? ops::transpose(y, {.pattern = {0, 2, 3, 1}}) : y;
}

// For images of float32 or uint8 with up to three channels in the last axis, MegEngine uses OpenCV: positions
// are multiples of 1/32 pixel, and integers are rounded half up.
constexpr double steps = 32, affine_steps = 1024;
bool is_in_steps(const Tensor& x, uint32_t format) {
    bool is_known = x.dtype() == DType::f32 || x.dtype() == DType::u8;
    return is_known && format == channels_last && rank_of(x) == 4 && x.shape()[3] <= 3;
}

Tensor seen_in_steps(const Tensor& x, const Tensor& map, const Tensor& image, const ops::RemapParams& p) {
    if (x.dtype() != DType::u8) return seen_through(x, map, image, channels_last, p);
    Tensor y = seen_through(convert_dtype(x, DType::f32), map, image, channels_last, p);
    return convert_dtype(ops::floor(ops::add(y, scalar_tensor(0.5, DType::f32, host_device))), DType::u8);
}

// The places that matrices name: (x, y) of the result is (u, v) in the image, where (u, v) or (u, v, w), to
// be divided by w, is the matrix times (x, y, 1).
class Coordinates {
public:
    Coordinates(const Tensor& matrices, const Tensor& size, int rows) {
        if (rank_of(matrices) != 3 || matrices.shape()[1] != rows || matrices.shape()[2] != 3)
            invalid("matrices of shape ", matrices.shape(), ", expected (M, ", rows, ", 3)");
        if (size.shape().is_known() && size.shape().rank() != 1)
            invalid("a size of rank ", size.shape().rank());
        matrix_ = convert_dtype(matrices, DType::f32);
        // A single number is the size of a square.
        bool is_square = size.shape().is_known() && size.shape()[0] == 1;
        row_ = ops::reshape(count_up(element_of(size, 0)), {.shape = {1, -1, 1}});
        column_ = ops::reshape(count_up(element_of(size, is_square ? 0 : 1)), {.shape = {1, 1, -1}});
    }

    Tensor perspective(bool in_steps) const {
        Tensor w = line(2), u = ops::div(line(0), w), v = ops::div(line(1), w);
        return in_steps ? joined(rounded(u, steps), rounded(v, steps)) : joined(u, v);
    }
    Tensor affine() const { return joined(line(0), line(1)); }
    // Columns and rows are rounded each for itself before they are added.
    Tensor affine_in_steps(bool is_nearest) const {
        double kept = is_nearest ? 1 : steps, half = affine_steps / kept / 2;
        auto place = [&](int64_t i) {
            Tensor sum = ops::add(scaled(along_columns(i)), scaled(along_rows(i)));
            Tensor whole = ops::floor(ops::mul(ops::add(sum, number(half)), number(kept / affine_steps)));
            return ops::mul(whole, number(1 / kept));
        };
        return joined(place(0), place(1));
    }

private:
    static Tensor scaled(const Tensor& t) { return ops::round_to_even(ops::mul(t, number(affine_steps))); }
    static Tensor rounded(const Tensor& t, double n) {
        return ops::mul(ops::round_to_even(ops::mul(t, number(n))), number(1 / n));
    }
    // (M, OH, OW, 2), column first.
    static Tensor joined(const Tensor& u, const Tensor& v) {
        return ops::concat({ops::add_axis(u, {.axes = {3}}), ops::add_axis(v, {.axes = {3}})}, {.axis = 3});
    }
    Tensor entry(int64_t i, int64_t k) const { return cut(cut(matrix_, 1, i, i + 1), 2, k, k + 1); }
    Tensor along_columns(int64_t i) const { return ops::mul(entry(i, 0), column_); }
    Tensor along_rows(int64_t i) const { return ops::add(ops::mul(entry(i, 1), row_), entry(i, 2)); }
    Tensor line(int64_t i) const {
        return ops::add(ops::add(along_columns(i), ops::mul(entry(i, 1), row_)), entry(i, 2));
    }

    Tensor matrix_, row_, column_;
};

}  // namespace

// Inputs: images, matrices, which image each is for (optional), size.
Tensors import_warp_perspective(const Site& site) {
    auto& p = site.params<file::WarpPerspective>();
    if (site.size() != 3 && site.size() != 4) unsupported("several sources of images");
    const Tensor& x = site.in(0);
    Coordinates places(site.in(1), as_index(site.in(site.size() - 1)), 3);
    Tensor image = site.size() == 4 ? as_index(site.in(2)) : Tensor();
    ops::RemapParams remap{interpolation_of(p.imode()), border_of(p.bmode()), p.border_val()};
    if (is_in_steps(x, p.format())) return {seen_in_steps(x, places.perspective(true), image, remap)};
    return {seen_through(x, places.perspective(false), image, p.format(), remap)};
}

Tensors import_warp_affine(const Site& site) {
    auto& p = site.params<file::WarpAffine>();
    const Tensor& x = site.in(0);
    Coordinates places(site.in(1), as_index(site.in(2)), 2);
    ops::RemapParams remap{interpolation_of(p.imode()), border_of(p.border_mode()), p.border_val()};
    bool is_nearest = remap.interpolation == ops::Interpolation::nearest;
    if (is_in_steps(x, p.format())) return {seen_in_steps(x, places.affine_in_steps(is_nearest), {}, remap)};
    return {seen_through(x, places.affine(), {}, p.format(), remap)};
}

Tensors import_remap(const Site& site) {
    auto& p = site.params<file::Remap>();
    return {seen_through(site.in(0), site.in(1), {}, p.format(),
                         {interpolation_of(p.imode()), border_of(p.border_type()), p.scalar()})};
}

}  // namespace mge::megengine

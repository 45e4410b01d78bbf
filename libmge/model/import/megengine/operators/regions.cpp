// SPDX-License-Identifier: Apache-2.0
// Detection operators: RoI pooling and non-maximum suppression.

#include <cmath>
#include <limits>

#include "libmge/base/number_text.h"
#include "libmge/device/device.h"
#include "libmge/model/import/megengine/extents.h"
#include "libmge/model/import/megengine/families.h"
#include "libmge/op/apply.h"
#include "libmge/ops/create/full.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/index/slice/slice.h"
#include "libmge/ops/index/slice/slice_items.h"
#include "libmge/ops/nn/pooling/pool2d.h"
#include "libmge/ops/shape/broadcast.h"
#include "libmge/ops/shape/concat.h"
#include "libmge/ops/shape/reshape.h"
#include "libmge/ops/shape/shape_of.h"
#include "libmge/ops/vision/deformable_roi_pool2d.h"
#include "libmge/ops/vision/nms.h"
#include "libmge/ops/vision/remap.h"
#include "libmge/ops/vision/roi_pool2d.h"

namespace mge::megengine {
namespace {

enum PoolMode : uint32_t { max_of_region, average_of_region };
// Samples of a region along an axis, and groups of boxes that are looked through one after the other.
constexpr uint64_t most_samples = 1 << 14;
constexpr int64_t most_groups = 256;

void require_mode(uint32_t mode) {
    if (mode > average_of_region) unsupported("pooling mode ", mode);
}

// The middles of `count` equal parts of each interval; one that ends before its start is a point.
Tensor evenly(const Tensor& start, const Tensor& stop, int64_t count) {
    std::vector<float> parts;
    for (int64_t i = 0; i < count; ++i) parts.push_back((float(i) + 0.5f) / float(count));
    Tensor extent = ops::maximum(ops::sub(stop, start), scalar_tensor(0, DType::f32, host_device));
    return ops::add(
        start, ops::mul(extent, tensor_from_host({DType::f32, {1, count}, {}}, parts.data(), host_device)));
}

// (R, height, width, 2): positions of the samples of the regions, column first.
Tensor sample_places(const Tensor& corners, int64_t height, int64_t width) {
    auto corner = [&](int i) { return cut(corners, 1, i, i + 1); };
    Tensor columns = ops::add_axis(evenly(corner(0), corner(2), width), {.axes = {1, 3}});
    Tensor rows = ops::add_axis(evenly(corner(1), corner(3), height), {.axes = {2, 3}});
    IntList whole{-1, height, width, 1};
    return ops::concat(
        {ops::broadcast_to(columns, {.shape = whole}), ops::broadcast_to(rows, {.shape = whole})},
        {.axis = 3});
}

void check_regions(const Tensor& x, const Tensor& regions) {
    if (rank_of(x) != 4) invalid("images of rank ", rank_of(x));
    if (!is_float(x.dtype())) unsupported("images of ", x.dtype());
    if (regions.shape().is_known() && (regions.shape().rank() != 2 || regions.shape()[1] != 5))
        invalid("regions of shape ", regions.shape(), ", expected (R, 5)");
}

// MegEngine compares floats, the operator doubles: a number that rounds to the threshold is not above it.
double above_by_half_a_step(float threshold) {
    return (double(threshold) + std::nextafter(threshold, std::numeric_limits<float>::infinity())) / 2;
}

// For one group of boxes, best first: the kept ones, then zeros, and the number of kept ones.
Tensors kept_boxes(const Tensor& boxes, double threshold, int64_t most) {
    Tensor place = count_up(extent_of(boxes, 0));
    Tensor kept = ops::nms(boxes, ops::neg(place), {.threshold = threshold, .max_output = most});
    Tensor count = ops::shape_of(kept, {.axis = 0});
    Tensor none = ops::full({.shape = {most}, .dtype = DType::i32});
    Tensor indices = ops::set_slice(
        {none, kept, count}, {.items = {0, ops::absent_bound, ops::bound_from_input, ops::absent_bound, 0}});
    return {indices, count};
}

}  // namespace

// Inputs: images, regions. The second output is for the gradient.
Tensors import_roi_align(const Site& site) {
    auto& p = site.params<file::ROIAlign>();
    const Tensor &x = site.in(0), &regions = site.in(1);
    check_regions(x, regions);
    require_mode(p.mode());
    if (p.format()) unsupported("images in the format ", p.format());
    uint64_t height = uint64_t(p.pooled_height()) * p.sample_height();
    uint64_t width = uint64_t(p.pooled_width()) * p.sample_width();
    if (height == 0 || width == 0) unsupported("as many samples as a region has pixels");
    if (height > most_samples || width > most_samples) invalid(height, " x ", width, " samples per region");
    Tensor all = convert_dtype(regions, DType::f32);
    Tensor corners =
        ops::sub(ops::mul(cut(all, 1, 1, 5), scalar_tensor(p.spatial_scale(), DType::f32, host_device)),
                 scalar_tensor(p.offset(), DType::f32, host_device));
    Tensor image = convert_dtype(ops::slice({all}, {.items = {1, 0, 0, 1, 1}}), DType::i32);
    Tensor sampled = ops::remap(x, sample_places(corners, int64_t(height), int64_t(width)), image,
                                {.border = ops::Border::constant});
    ops::Pair window{p.sample_height(), p.sample_width()};
    Tensor y = p.mode() == max_of_region ? ops::max_pool2d(sampled, {.kernel = window, .stride = window})
                                         : ops::avg_pool2d(sampled, {.kernel = window, .stride = window});
    return {y, Tensor()};
}

// Inputs: images, regions, the size of a result. The second output is for the gradient.
Tensors import_roi_pooling(const Site& site) {
    auto& p = site.params<file::ROIPooling>();
    check_regions(site.in(0), site.in(1));
    require_mode(p.mode());
    auto size = constant_values(site.in(2), "the size of a pooled region");
    if (size.size() != 2) invalid("a size of ", counted(size.size(), "number"));
    return {ops::roi_pool2d(
                site.in(0), convert_dtype(site.in(1), DType::f32),
                {.height = size[0],
                 .width = size[1],
                 .mode = p.mode() == max_of_region ? ops::RoiPoolMode::max : ops::RoiPoolMode::average,
                 .scale = p.scale()}),
            Tensor()};
}

// Inputs: images, regions, how far their parts are moved. The second output is for the gradient.
Tensors import_deformable_roi_pooling(const Site& site) {
    auto& p = site.params<file::DeformablePSROIPooling>();
    check_regions(site.in(0), site.in(1));
    const Tensor& offsets = site.in(2);
    // MegEngine reads beyond offsets of another number of parts.
    if (!p.no_trans() && (offsets.shape().rank() != 4 || offsets.shape()[2] != int64_t(p.part_size())))
        invalid("offsets of shape ", offsets.shape(), " for ", p.part_size(), " parts");
    return {ops::deformable_roi_pool2d(site.in(0), convert_dtype(site.in(1), DType::f32),
                                       p.no_trans() ? Tensor() : offsets,
                                       {.height = p.pooled_h(),
                                        .width = p.pooled_w(),
                                        .samples = p.sample_per_part(),
                                        .scale = p.spatial_scale(),
                                        .offset_scale = p.trans_std()}),
            Tensor()};
}

// Input: groups of boxes (B, N, 4), best first. Outputs: indices (B, M), and how many of them count.
Tensors import_nms_keep(const Site& site) {
    auto& p = site.params<file::NMSKeep>();
    Tensor boxes = convert_dtype(site.in(0), DType::f32);
    // Boxes selected at run time have no known shape, and form one group.
    bool is_known = boxes.shape().is_known();
    if (is_known && boxes.shape().rank() != 3) invalid("boxes of rank ", boxes.shape().rank());
    int64_t groups = is_known ? boxes.shape()[0] : 1;
    if (groups < 1 || groups > most_groups) unsupported(counted(groups, "group"), " of boxes");
    if (p.max_output() > uint32_t(1) << 24) invalid("it keeps ", p.max_output(), " boxes");
    Tensors indices, counts;
    for (int64_t i = 0; i < groups; ++i) {
        Tensors kept = kept_boxes(ops::slice({boxes}, {.items = {0, i, i, 1, 1}}),
                                  above_by_half_a_step(p.iou_thresh()), p.max_output());
        indices.push_back(ops::add_axis(kept[0], {.axes = {0}}));
        counts.push_back(kept[1]);
    }
    if (groups == 1) return {indices[0], counts[0]};
    return {ops::concat(TensorList(indices), {.axis = 0}), ops::concat(TensorList(counts), {.axis = 0})};
}

}  // namespace mge::megengine

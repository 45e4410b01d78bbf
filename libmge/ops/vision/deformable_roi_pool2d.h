// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct DeformableRoiPoolParams {
    int64_t height = 1, width = 1, samples = 1;
    double scale = 1, offset_scale = 0.1;
};
inline constexpr auto deformable_roi_pool_fields = field_list(
    field<&DeformableRoiPoolParams::height>("height", "Height of each result."),
    field<&DeformableRoiPoolParams::width>("width", "Width of each result."),
    field<&DeformableRoiPoolParams::samples>("samples", "Number of samples of a cell along each axis."),
    field<&DeformableRoiPoolParams::scale>("scale", "Pixels of x per unit of the regions."),
    field<&DeformableRoiPoolParams::offset_scale>(
        "offset_scale",
        "Size of an offset of 1 as a fraction of the width and height of the "
        "region."));

// Dai et al., "Deformable convolutional networks" (2017), with one group of channels.
struct DeformableRoiPool2d {
    static constexpr auto name = "deformable_roi_pool2d";
    static constexpr auto doc =
        "Deformable RoI pooling of images x (N, C, H, W) to (R, C, height, width): the mean of bilinear "
        "samples of each cell of each region. Regions (R, 5) are the index of an image and the corners x1, "
        "y1, x2, y2, rounded and inclusive. `offsets` (R, 2, parts, parts), x first, shift the parts of a "
        "region. Samples outside the image are ignored; a cell without samples is 0.";
    static constexpr auto inputs = names("x", unpromoted("regions"), optional("offsets"));
    using Params = DeformableRoiPoolParams;
    static constexpr auto fields = deformable_roi_pool_fields;
    // Four products for each of the samples, about.
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<DeformableRoiPool2d> deformable_roi_pool2d{};

struct DeformableRoiPool2dBackward {
    static constexpr auto name = "deformable_roi_pool2d_backward";
    static constexpr auto doc =
        "Gradients of deformable_roi_pool2d with respect to x and the offsets. The second is empty without "
        "offsets.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", unpromoted("regions"), "dy", optional("offsets"));
    static constexpr auto outputs = output_names("dx", "doffsets");
    using Params = DeformableRoiPoolParams;
    static constexpr auto fields = deformable_roi_pool_fields;
    static constexpr bool stops_gradient = true;
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<DeformableRoiPool2dBackward, false> deformable_roi_pool2d_backward{};

}  // namespace mge::ops

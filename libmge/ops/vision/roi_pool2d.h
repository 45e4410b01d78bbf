// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge {

namespace ops {
enum class RoiPoolMode { max, average };
}  // namespace ops

template <>
struct EnumNames<ops::RoiPoolMode> {
    static constexpr std::string_view names[] = {"max", "average"};
};

namespace ops {

struct RoiPoolParams {
    int64_t height = 1, width = 1;
    RoiPoolMode mode = RoiPoolMode::max;
    double scale = 1;
};
inline constexpr auto roi_pool_fields =
    field_list(field<&RoiPoolParams::height>("height", "Height of each result."),
               field<&RoiPoolParams::width>("width", "Width of each result."),
               field<&RoiPoolParams::mode>("mode", "Maximum or mean of a cell."),
               field<&RoiPoolParams::scale>("scale", "Pixels of x per unit of the regions."));

struct RoiPool2d {
    static constexpr auto name = "roi_pool2d";
    static constexpr auto doc =
        "RoI pooling of images x (N, C, H, W) to (R, C, height, width). Regions (R, 5) are the index of an "
        "image and the corners x1, y1, x2, y2, rounded to pixels and inclusive. An empty cell gives 0.";
    static constexpr auto inputs = names("x", unpromoted("regions"));
    using Params = RoiPoolParams;
    static constexpr auto fields = roi_pool_fields;
    // The size of the cells depends on the regions.
    static constexpr UnknownOperations operations{};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<RoiPool2d> roi_pool2d{};

struct RoiPool2dBackward {
    static constexpr auto name = "roi_pool2d_backward";
    static constexpr auto doc =
        "Gradient of roi_pool2d with respect to x. The gradient of a maximum goes to the first of the "
        "largest pixels.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", unpromoted("regions"), "dy");
    static constexpr auto outputs = output_names("dx");
    using Params = RoiPoolParams;
    static constexpr auto fields = roi_pool_fields;
    static constexpr bool stops_gradient = true;
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<RoiPool2dBackward> roi_pool2d_backward{};

}  // namespace ops
}  // namespace mge

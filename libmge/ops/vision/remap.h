// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge {

namespace ops {
enum class Interpolation { linear, nearest };
// The values outside of an image, shown by its row abcd: a constant; aaa|abcd|ddd; cba|abcd|dcb;
// dcb|abcd|cba; bcd|abcd|abc.
enum class Border { constant, replicate, reflect, reflect_101, wrap };
}  // namespace ops

template <>
struct EnumNames<ops::Interpolation> {
    static constexpr std::string_view names[] = {"linear", "nearest"};
};
template <>
struct EnumNames<ops::Border> {
    static constexpr std::string_view names[] = {"constant", "replicate", "reflect", "reflect_101", "wrap"};
};

namespace ops {

struct RemapParams {
    Interpolation interpolation = Interpolation::linear;
    Border border = Border::replicate;
    double value = 0;
};
inline constexpr auto remap_fields = field_list(
    field<&RemapParams::interpolation>("interpolation", "Linear between four pixels, or the nearest pixel."),
    field<&RemapParams::border>("border", "Values outside of an image."),
    field<&RemapParams::value>("value", "Value outside of an image for a constant border."));

// Each map belongs to the image at its own place in the batch, or to the one that `image` names.
struct Remap {
    static constexpr auto name = "remap";
    static constexpr auto doc =
        "Samples images x (N, C, H, W) at the pixel positions map (M, OH, OW, 2), column first. The result "
        "is (M, C, OH, OW). Map m samples image m, or image[m] if `image` (int32) is given.";
    static constexpr auto inputs =
        names("x", unpromoted("map"), InputInfo("image", InputKind::optional, false, false));
    using Params = RemapParams;
    static constexpr auto fields = remap_fields;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Remap> remap{};

struct RemapBackwardData {
    static constexpr auto name = "remap_backward_data";
    static constexpr auto doc = "Gradient of remap with respect to x, of which only the shape is read.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs =
        names(example("x"), unpromoted("map"), "dy", InputInfo("image", InputKind::optional, false, false));
    static constexpr auto outputs = output_names("dx");
    using Params = RemapParams;
    static constexpr auto fields = remap_fields;
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<RemapBackwardData> remap_backward_data{};

struct RemapBackwardMap {
    static constexpr auto name = "remap_backward_map";
    static constexpr auto doc = "Gradient of remap with respect to the map.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs =
        names("x", unpromoted("map"), "dy", InputInfo("image", InputKind::optional, false, false));
    static constexpr auto outputs = output_names("dmap");
    using Params = RemapParams;
    static constexpr auto fields = remap_fields;
    static constexpr bool stops_gradient = true;
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static double operations(const Params&, Specs in, Specs out);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<RemapBackwardMap> remap_backward_map{};

}  // namespace ops
}  // namespace mge

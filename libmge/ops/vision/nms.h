// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Nms {
    static constexpr auto name = "nms";
    static constexpr auto doc =
        "Non-maximum suppression. Returns the indices (int32) of the boxes (N, 4), with corners x1, y1, "
        "x2, y2, that do not overlap a better one by more than the threshold, best score (N) first. Of "
        "equal scores the first is the best.";
    static constexpr auto inputs = names("boxes", "scores");
    static constexpr auto outputs = output_names("indices");
    static constexpr OpTraits traits{.runtime_shape = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        double threshold = 0.5;
        int64_t max_output = -1;
    };
    static constexpr auto fields = field_list(
        field<&Params::threshold>("threshold", "Largest accepted intersection over union of two boxes."),
        field<&Params::max_output>("max_output", "Largest number of indices; -1: all."));
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static std::vector<Shape> shapes_of_items(const Shape&, const Extent& count) {
        return {Shape{count.raw()}};
    }
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Nms> nms{};

}  // namespace mge::ops

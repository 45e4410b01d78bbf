// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct ClassNms {
    static constexpr auto name = "class_nms";
    static constexpr auto doc =
        "Non-maximum suppression for each class of each image. Boxes are (images, n, 4) and scores "
        "(images, classes, n). Returns the boxes that do not overlap a better one of their class by more "
        "than overlap_threshold (f32, default 0) as rows of (image, class, box), best score first. Of "
        "equal scores the first is the best. At most max_output (i64, default 0) boxes of a class are "
        "selected, with scores above score_threshold (f32).";
    static constexpr auto inputs = names("boxes", "scores", optional("max_output"),
                                         optional("overlap_threshold"), optional("score_threshold"));
    static constexpr auto outputs = output_names("selected");
    static constexpr OpTraits traits{.runtime_shape = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        bool is_centered = false;
    };
    static constexpr auto fields = field_list(field<&Params::is_centered>(
        "is_centered",
        "Boxes are (x, y, width, height) with x and y of the center. Otherwise they are two corners in any "
        "order."));
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static std::vector<Shape> shapes_of_items(const Shape&, const Extent& count) {
        return {Shape{count.raw(), 3}};
    }
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<ClassNms> class_nms{};

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct ClassNms {
    static constexpr auto name = "class_nms";
    static constexpr auto doc =
        "Non-maximum suppression for each class of each image: of the boxes (images, n, 4) with scores "
        "(images, classes, n) those that overlap no better one of their class too much, as rows of image, "
        "class and box, best score first. Among equal scores the first is the best.";
    static constexpr auto inputs = names("boxes", "scores", optional("max_output"),
                                         optional("overlap_threshold"), optional("score_threshold"));
    static constexpr auto outputs = output_names("selected");
    static constexpr OpTraits traits{.runtime_shape = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        bool is_centered = false;
        bool operator==(const Params&) const = default;
    };
    static constexpr auto fields = field_list(field<&Params::is_centered>(
        "is_centered",
        "Boxes are x and y of their middle, width and height; else two corners, in any order. The further "
        "inputs are numbers: how many boxes of a class are selected at most (i64, else none), the largest "
        "accepted intersection over union (f32, else 0), and what a score has to exceed (f32)."));
    static constexpr UnknownOperations operations{};
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, std::span<const TensorSpec>);
    MGE_API static const OpInfo info;
};
KernelList kernels(Cpu, ClassNms);
inline constexpr OpFunction<ClassNms> class_nms{};

}  // namespace mge::ops

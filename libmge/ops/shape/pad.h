// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge {

namespace ops {
// The source of a margin's elements: a constant; the inside mirrored at the edge element (which is not
// repeated); the edge element.
enum class PadMode { constant, reflect, replicate };
}  // namespace ops

template <>
struct EnumNames<ops::PadMode> {
    static constexpr std::string_view names[] = {"constant", "reflect", "replicate"};
};

namespace ops {

struct Pad {
    static constexpr auto name = "pad";
    static constexpr auto doc = "Adds margins before and after the elements of each axis.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    struct Params {
        IntList before, after;
        PadMode mode = PadMode::constant;
        double value = 0;
    };
    static constexpr auto fields = field_list(
        field<&Params::before>("before", "Number of elements to add in front, one per axis."),
        field<&Params::after>("after", "Number of elements to add at the end, one per axis."),
        field<&Params::mode>("mode", "Content of the margins: a constant, the mirrored inside, or the edge."),
        field<&Params::value>("value", "Value of constant margins."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Pad> pad{};

struct PadBackward {
    static constexpr auto name = "pad_backward";
    static constexpr auto doc = "Gradient of pad: each element is the sum of the gradients of its copies.";
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("dy");
    static constexpr auto outputs = output_names("dx");
    static constexpr auto takes = DTypes::numbers;
    using Params = Pad::Params;
    static constexpr auto fields = Pad::fields;
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<PadBackward> pad_backward{};

}  // namespace ops
}  // namespace mge

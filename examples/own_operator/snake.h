// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <libmge/own_operators.h>

namespace example {

// The operator's name, its inputs, outputs and parameters. Python's function, the attributes in model files,
// the key of measured times and the documentation follow from this struct.
struct Snake {
    static constexpr auto name = "snake";
    static constexpr auto doc = "x + sin²(alpha·x) / alpha: an activation that can go on periodically.";
    static constexpr auto inputs = mge::names("x");
    static constexpr auto outputs = mge::output_names("y");
    // Integers are converted to f32 before. The result may reuse the memory of x if x has no other readers.
    static constexpr mge::OpTraits traits{.promotion = mge::Promotion::floating, .elementwise = true};
    static constexpr auto in_place = mge::in_place_list(mge::InPlace{0, 0});
    struct Params {
        double alpha = 1;
    };
    static constexpr auto fields =
        mge::field_list(mge::field<&Params::alpha>("alpha", "How fast it oscillates; positive."));

    static mge::TensorSpecs infer(const Params&, std::span<const mge::TensorSpec>);
    static mge::Tensors gradient(const mge::GradientContext<Params>&);
    static const mge::OpInfo info;
};
mge::KernelList kernels(mge::Cpu, Snake);

// The function for C++: snake(x, {.alpha = 2}).
inline constexpr mge::OpFunction<Snake> snake{};

}  // namespace example

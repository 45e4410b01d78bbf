// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Arange {
    static constexpr auto name = "arange";
    static constexpr auto doc = "The vector start, start + step, start + 2 step, … without stop.";
    static constexpr auto inputs = names(host("first"), host("last"), host("gap"));
    static constexpr auto takes = DTypes::numbers;
    static constexpr bool stops_gradient = true;
    struct Params {
        double start = 0, stop = 0, step = 1;
        DType dtype = DType::f32;
    };
    static constexpr auto fields = field_list(
        field<&Params::start>("start", "First value; replaced by the number `first` if it is given."),
        field<&Params::stop>("stop", "Exclusive upper bound; replaced by the number `last` if it is given."),
        field<&Params::step>("step",
                             "Difference of neighbouring values; replaced by `gap` if it is given. "
                             "It is not 0 and may be negative."),
        field<&Params::dtype>("dtype", "Dtype of the result."));
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Arange> arange{};

struct Linspace {
    static constexpr auto name = "linspace";
    static constexpr auto doc = "The vector of num evenly spaced values from start to stop, both included.";
    static constexpr auto inputs = names(optional("first"), optional("last"), host("count"));
    struct Params {
        double start = 0, stop = 1;
        int64_t num = 100;
    };
    static constexpr auto fields = field_list(
        field<&Params::start>("start", "First value; replaced by the number `first` if it is given."),
        field<&Params::stop>("stop", "Last value; replaced by the number `last` if it is given."),
        field<&Params::num>("num", "Number of values, 0 or more; replaced by `count` if it is given."));
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Linspace> linspace{};

}  // namespace mge::ops

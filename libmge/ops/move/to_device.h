// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct ToDevice {
    static constexpr auto name = "to_device";
    static constexpr auto doc = "Copies x to another device.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    struct Params {
        DeviceId device;
    };
    static constexpr auto fields =
        field_list(field<&Params::device>("device", "Name of the device of the result."));

    static constexpr OpTraits traits{.of_every_device = true};
    static DeviceId place(const Params& p) { return p.device; }
    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<ToDevice> to_device{};

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A function of steps of a byte (quantisation.h) has 256 values: whoever knows it writes them down.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/op/elementwise_form.h"

namespace mge::ops {

struct MapBytes : WithoutParams {
    static constexpr auto name = "map_bytes";
    static constexpr auto doc =
        "Looks up each byte in a table: y = table[x]. An int8 index is read as uint8, so that -1 selects "
        "element 255. The table has 256 elements of uint8 or int8, and y has its dtype.";
    static constexpr auto inputs = names("x", "table");
    static constexpr bool stops_gradient = true;
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    static constexpr PerInputElement operations{1};
    static TensorSpecs infer(const Params&, Specs);
    static std::optional<PhysicalForm> physical_form(const Params& p, const Layout& layout, Specs in,
                                                     Specs out) {
        auto form = elementwise_form(std::make_shared<const Params>(p), layout, in.first(1), out);
        if (form) form->inputs.push_back(in[1]);
        return form;
    }
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<MapBytes> map_bytes{};

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct AssertEqual {
    static constexpr auto name = "assert_equal";
    static constexpr auto doc =
        "Raises an error if two tensors of equal shapes differ. The result is the largest error |expected "
        "- actual| / max(min(|expected|, |actual|), 1).";
    static constexpr auto inputs = names("expected", "actual");
    static constexpr auto outputs = output_names("error");
    static constexpr auto takes = DTypes::numbers;
    static constexpr OpTraits traits{.promotion = Promotion::common, .effect = true, .of_every_device = true};
    static constexpr bool stops_gradient = true;
    struct Params {
        double max_error = 1e-4;
        bool verbose = false;
        std::string claim;
    };
    static constexpr auto fields = field_list(
        field<&Params::max_error>("max_error", "Largest accepted error."),
        field<&Params::verbose>("verbose", "Print the largest error to standard error in each run."),
        field<&Params::claim>("claim",
                              "Text of the error message, followed by the first differing number of "
                              "`actual`. Empty: the message contains the largest error."));
    // Two magnitudes, the smaller, at least 1, difference, its magnitude, quotient, the largest.
    static constexpr PerInputElement operations{8};

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AssertEqual> assert_equal{};

}  // namespace mge::ops

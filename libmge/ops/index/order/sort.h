// SPDX-License-Identifier: Apache-2.0
#pragma once
// Order: by value, equal values by their place; descending is exactly the reverse. NaN comes last either way,
// unless it is the largest.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

inline constexpr std::string_view nan_is_largest_doc =
    "NaN is larger than all numbers; else it comes last in either direction.";

struct Sort {
    static constexpr auto name = "sort";
    static constexpr auto doc =
        "Sorts x along an axis. Returns the sorted elements and their positions "
        "(int32) in x.";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("values", "indices");
    static constexpr auto takes = DTypes::numbers;
    struct Params {
        int axis = -1;
        bool descending = false, nan_is_largest = false;
    };
    static constexpr auto fields =
        field_list(field<&Params::axis>("axis", "Axis to sort along; negative counts from the end."),
                   field<&Params::descending>("descending", "Largest first."),
                   field<&Params::nan_is_largest>("nan_is_largest", nan_is_largest_doc));
    static constexpr UnknownOperations operations{};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Sort, false> sort{};

struct Topk {
    static constexpr auto name = "topk";
    static constexpr auto doc =
        "Returns the k smallest or largest elements of each row (the last axis) in order, and their "
        "positions (int32).";
    static constexpr auto inputs = names("x");
    static constexpr auto outputs = output_names("values", "indices");
    static constexpr auto takes = DTypes::numbers;
    struct Params {
        int64_t k = 1;
        bool descending = true, kth_only = false, no_sort = false, nan_is_largest = false;
    };
    static constexpr auto fields =
        field_list(field<&Params::k>("k", "Number of elements; all if the row is shorter."),
                   field<&Params::descending>("descending", "Largest first."),
                   field<&Params::kth_only>("kth_only",
                                            "Return only the k-th element of each row. The axis is removed."),
                   field<&Params::no_sort>("no_sort", "Allow any order of the k elements."),
                   field<&Params::nan_is_largest>("nan_is_largest", nan_is_largest_doc));
    static constexpr UnknownOperations operations{};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Topk, false> topk{};

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Operators that keep the elements and their order and change only the shape. Interpreters make views of
// them.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct Reshape {
    static constexpr auto name = "reshape";
    static constexpr auto doc = "Returns the elements of x, in row-major order, in another shape.";
    static constexpr auto inputs = names("x", host("target"));
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.view = true};
    struct Params {
        IntList shape;
    };
    static constexpr auto fields = field_list(
        field<&Params::shape>("shape",
                              "Shape of the result; at most one size may be -1 and is inferred. It is "
                              "replaced by the tensor `target` if that is given."));

    static TensorSpecs infer(const Params&, Specs);
    static Params resolve(const Params&, std::span<const Tensor> host_values);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Reshape> reshape{};

struct ReshapeLike : WithoutParams {
    static constexpr auto name = "reshape_like";
    static constexpr auto doc =
        "Returns the elements of x, in row-major order, in the shape of `like`, "
        "whose values are not read.";
    static constexpr auto inputs = names("x", example("like", InputKind::required, true));
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.view = true};

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<ReshapeLike> reshape_like{};

struct Flatten {
    static constexpr auto name = "flatten";
    static constexpr auto doc = "Joins the axes from `start` to `end`, both included, into one.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.view = true};
    struct Params {
        int start = 0, end = -1;
    };
    static constexpr auto fields =
        field_list(field<&Params::start>("start", "First axis to join; negative counts from the end."),
                   field<&Params::end>("end", "Last axis to join; negative counts from the end."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Flatten> flatten{};

struct AddAxis {
    static constexpr auto name = "add_axis";
    static constexpr auto doc = "Inserts axes of size 1.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.view = true};
    struct Params {
        IntList axes;
    };
    static constexpr auto fields =
        field_list(field<&Params::axes>("axes", "Positions of the new axes in the result."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<AddAxis> add_axis{};

struct RemoveAxis {
    static constexpr auto name = "remove_axis";
    static constexpr auto doc = "Removes axes of size 1.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.view = true};
    struct Params {
        IntList axes;
    };
    static constexpr auto fields = field_list(field<&Params::axes>("axes", "Axes of the input to remove."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<RemoveAxis> remove_axis{};

}  // namespace mge::ops

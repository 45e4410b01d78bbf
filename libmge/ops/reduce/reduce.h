// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reductions over a list of axes: sum, mean, max, min, prod.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

struct ReduceParams {
    IntList axes;
    bool keepdims = false;
};

// Which axes of a tensor of this rank are reduced; an empty list means all. UserError for an axis that is out
// of range or there twice.
MGE_API std::array<bool, max_rank> reduced_axes(std::string_view name, const IntList& axes, int rank);
MGE_API Shape reduced_shape(const Shape& x, const std::array<bool, max_rank>& reduced, bool keepdims);
// A result of reducing x, with the axes of extent 1 that keepdims would have left.
MGE_API Tensor with_kept_axes(std::string_view name, const Tensor& result, const Tensor& x,
                              const IntList& axes, bool keepdims);
// How many elements of x go into each result (f32); in a graph a value that follows the shape of x.
MGE_API Tensor reduced_count(const Tensor& x, const IntList& axes);
// UserError when there is nothing to take an extreme of.
MGE_API void require_elements(std::string_view name, const Shape& x,
                              const std::array<bool, max_rank>& reduced);

MGE_API std::optional<BatchIndependence> reduce_independence(const ReduceParams& params, const TensorSpec& x);
// Reducing an axis reduces all its digits in the layout; the rest must have the order of a plain tensor.
MGE_API std::optional<PhysicalForm> reduced_form(std::string_view name, const ReduceParams& params,
                                                 const Layout& layout, const TensorSpec& x,
                                                 const TensorSpec& y);

// O has `result_dtype(dtype of x)` and `gradient`.
template <class O>
struct ReduceOp {
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::numbers;
    using Params = ReduceParams;
    static constexpr auto fields = field_list(
        field<&Params::axes>("axes", "Axes to reduce; negative ones count from the end; empty: all."),
        field<&Params::keepdims>("keepdims", "Leave the reduced axes with size 1."));
    static constexpr PerInputElement operations{};

    static TensorSpecs infer(const Params& p, Specs in) {
        TensorSpec y{O::result_dtype(in[0].dtype), Shape::unknown(), {}};
        if (!in[0].shape.is_known()) return {y};
        auto reduced = reduced_axes(O::name, p.axes, in[0].shape.rank());
        y.shape = reduced_shape(in[0].shape, reduced, p.keepdims);
        if (O::needs_elements && y.shape.elements().lower() > 0)
            require_elements(O::name, in[0].shape, reduced);
        return {y};
    }
    static std::optional<BatchIndependence> batch_independence(const Params& p, Specs in, Specs) {
        return reduce_independence(p, in[0]);
    }
    static std::optional<PhysicalForm> physical_form(const Params& p, const Layout& layout, Specs in,
                                                     Specs out) {
        return reduced_form(O::name, p, layout, in[0], out[0]);
    }
};

struct Sum : ReduceOp<Sum> {
    static constexpr auto name = "sum";
    static constexpr auto doc =
        "Sum over axes. It keeps the dtype; integers wrap, and bools are counted "
        "in int32.";
    static constexpr bool needs_elements = false;
    static constexpr auto autocast = Autocast::wide;
    static DType result_dtype(DType x) { return x == DType::boolean ? DType::i32 : x; }
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Sum> sum{};

struct Mean : ReduceOp<Mean> {
    static constexpr auto name = "mean";
    static constexpr auto doc =
        "Mean over axes in float32, also of bfloat16 and float16. The mean of no "
        "elements is NaN.";
    static constexpr bool needs_elements = false;
    static DType result_dtype(DType x) { return x == DType::f64 ? x : DType::f32; }
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Mean> mean{};

struct Prod : ReduceOp<Prod> {
    static constexpr auto name = "prod";
    static constexpr auto doc =
        "Product over axes. It keeps the dtype; integers wrap, and bools give "
        "int32.";
    static constexpr bool needs_elements = false;
    static constexpr auto autocast = Autocast::wide;
    static DType result_dtype(DType x) { return x == DType::boolean ? DType::i32 : x; }
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Prod> prod{};

struct Max : ReduceOp<Max> {
    static constexpr auto name = "max";
    static constexpr auto doc =
        "Maximum over axes; NaN if there is one. The gradient goes to all elements that are equal to it.";
    static constexpr bool needs_elements = true;
    static DType result_dtype(DType x) { return x; }
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Max> max{};

struct Min : ReduceOp<Min> {
    static constexpr auto name = "min";
    static constexpr auto doc =
        "Minimum over axes; NaN if there is one. The gradient goes to all elements that are equal to it.";
    static constexpr bool needs_elements = true;
    static DType result_dtype(DType x) { return x; }
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Min> min{};

}  // namespace mge::ops

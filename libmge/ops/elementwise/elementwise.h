// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of elementwise operators. A new one needs: its functor (kernel/scalar), its struct in the
// header of its group, its derivative in the group's .cpp, a line in the group's .cpu.cpp and .cuda.cu, and
// two in the group's .simd.cpp if it supports floats. Without them the link fails.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// The dtypes that an operator takes after promotion.
enum class Accepts : uint8_t { floats, integers, numbers, bools, all };

// Output: the broadcast shape; the inputs' dtype, or bool. UserError for a dtype that is not accepted.
MGE_API TensorSpecs infer_elementwise(std::string_view name, Specs inputs, Accepts accepts, bool gives_bool);

// `value` as a rank-0 tensor of x's dtype and device, to calculate with.
MGE_API Tensor constant_like(const Tensor& x, double value);
// The gradient of a broadcast input: `grad` summed down to the shape of `input`.
MGE_API Tensor unbroadcast(const Tensor& grad, const Tensor& input);

// MegEngine's functions that bound a value give a bound for NaN; those of ONNX give NaN.
struct NanParams {
    bool keeps_nan = false;
};
inline constexpr std::string_view keeps_nan_doc = "Return NaN for NaN.";
inline constexpr auto nan_fields = field_list(field<&NanParams::keeps_nan>("keeps_nan", keeps_nan_doc));

// y = f(x). O has `derivative(x, y, dy)`, or says stops_gradient; and `fields`, where it has parameters.
template <class O, Accepts accepts, Promotion promotion = Promotion::none, bool gives_bool = false,
          class P = NoParams>
struct Unary {
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::numbers;
    static constexpr OpTraits traits{.promotion = promotion, .elementwise = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0});
    using Params = P;
    static constexpr auto fields = no_fields;
    static constexpr Accepts accepted = accepts;

    static TensorSpecs infer(const Params&, Specs in) {
        return infer_elementwise(O::name, in, accepts, gives_bool);
    }
    // T: asked when gradient is used, as O is not complete before.
    template <class T = O>
    static Tensors gradient(const GradientContext<Params>& g) requires requires {
        &T::derivative;
    }
    { return g.result({{"x", T::derivative(g.input("x"), g.output(), g.output_grad())}}); }
};

// y = f(a, b). O has `derivative_a` and `derivative_b` of (a, b, y, dy) in the shape of y; a null result
// means no gradient.
template <class O, Accepts accepts, Promotion promotion = Promotion::common, bool gives_bool = false>
struct Binary : WithoutParams {
    static constexpr auto inputs = names("a", "b");
    static constexpr auto takes = DTypes::numbers;
    static constexpr OpTraits traits{.promotion = promotion, .elementwise = true};
    static constexpr auto in_place = in_place_list(InPlace{0, 0}, InPlace{0, 1});
    static constexpr Accepts accepted = accepts;

    static TensorSpecs infer(const Params&, Specs in) {
        return infer_elementwise(O::name, in, accepts, gives_bool);
    }
    template <class T = O>
    static Tensors gradient(const GradientContext<Params>& g) requires requires {
        &T::derivative_a;
    }
    {
        const Tensor &a = g.input("a"), &b = g.input("b"), &y = g.output(), &dy = g.output_grad();
        Tensor da, db;
        if (g.needs("a")) da = unbroadcast(T::derivative_a(a, b, y, dy), a);
        if (g.needs("b")) db = unbroadcast(T::derivative_b(a, b, y, dy), b);
        return g.result({{"a", da}, {"b", db}});
    }
};

template <class O>
concept ElementwiseOp = O::traits.elementwise&& requires {
    O::accepted;
};

}  // namespace mge::ops

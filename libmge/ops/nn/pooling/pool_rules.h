// SPDX-License-Identifier: Apache-2.0
#pragma once
// Common part of pooling over windows (pool2d.h) and over a grid of windows (adaptive_pool2d.h): shape
// rules, gradients and costs. Each kind of Params P has an overload of pooled_shape and one of window_of.

#include "libmge/op/apply.h"
#include "libmge/op/backend.h"
#include "libmge/ops/nn/pooling/geometry.h"

namespace mge::ops {

// O has results, or gradients of results, each of which comes from or goes to a whole window of x.
template <class O, class P>
struct PoolRules {
    using Params = P;
    static constexpr ImageLayouts layouts{};

    static TensorSpec y_spec(const P& p, Specs in) {
        check_pool_dtype(O::name, in[0]);
        return {in[0].dtype, pooled_shape(O::name, in[0].shape, p), {}};
    }
    static double operations_of(const P& p, const TensorSpec& x, const TensorSpec& results) {
        return element_count(results) * window_area(window_of(O::name, x.shape, p));
    }
};

template <class O, class P>
struct PoolForward : PoolRules<O, P> {
    static constexpr auto inputs = names("x");
    static constexpr AlwaysIndependent batch_independence{{.shares_times = true}};

    static TensorSpecs infer(const P& p, Specs in) { return {O::y_spec(p, in)}; }
    static double operations(const P& p, Specs in, Specs out) { return O::operations_of(p, in[0], out[0]); }
};

template <class O, class Backward, class P>
struct MaxPoolForward : PoolForward<O, P> {
    static Tensors gradient(const GradientContext<P>& g) {
        return g.result({{"x", OpFunction<Backward>()(g.input("x"), g.output(), g.output_grad(), g.params)}});
    }
};

template <class O, class Select, class P>
struct MaxPoolBackward : PoolRules<O, P> {
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", "y", "dy");
    static constexpr auto outputs = output_names("dx");
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const P& p, Specs in) {
        const TensorSpec y = O::y_spec(p, in);
        check_pool_input(O::name, "y", in[1], y);
        check_pool_input(O::name, "dy", in[2], y);
        return {{in[0].dtype, in[0].shape, {}}};
    }
    // Linear in dy. Which elements are the largest does not change with small changes of x.
    static Tensors gradient(const GradientContext<P>& g) {
        return g.result(
            {{"dy", OpFunction<Select>()(g.input("x"), g.input("y"), g.output_grad(), g.params)}});
    }
    static double operations(const P& p, Specs in, Specs) { return O::operations_of(p, in[0], in[2]); }
};

template <class O, class Backward, class P>
struct MaxPoolSelect : PoolRules<O, P> {
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names("x", "y", "v");
    static constexpr auto outputs = output_names("z");

    static TensorSpecs infer(const P& p, Specs in) {
        const TensorSpec y = O::y_spec(p, in);
        check_pool_input(O::name, "y", in[1], y);
        check_pool_input(O::name, "v", in[2], {in[0].dtype, in[0].shape, {}});
        return {{in[2].dtype, y.shape, {}}};
    }
    static Tensors gradient(const GradientContext<P>& g) {
        return g.result(
            {{"v", OpFunction<Backward>()(g.input("x"), g.input("y"), g.output_grad(), g.params)}});
    }
    static double operations(const P& p, Specs in, Specs out) { return O::operations_of(p, in[0], out[0]); }
};

template <class O, class Backward, class P>
struct AvgPoolForward : PoolForward<O, P> {
    static Tensors gradient(const GradientContext<P>& g) {
        return g.result({{"x", OpFunction<Backward>()(g.input("x"), g.output_grad(), g.params)}});
    }
};

template <class O, class Forward, class P>
struct AvgPoolBackward : PoolRules<O, P> {
    static constexpr bool only_trains = true;
    static constexpr auto inputs = names(example("x"), "dy");
    static constexpr auto outputs = output_names("dx");
    static constexpr auto autocast = Autocast::wide;

    static TensorSpecs infer(const P& p, Specs in) {
        check_pool_input(O::name, "dy", in[1], O::y_spec(p, in));
        return {{in[1].dtype, in[0].shape, {}}};
    }
    static Tensors gradient(const GradientContext<P>& g) {
        return g.result({{"dy", OpFunction<Forward>()(g.output_grad(), g.params)}});
    }
    static double operations(const P& p, Specs in, Specs) { return O::operations_of(p, in[0], in[1]); }
};

}  // namespace mge::ops

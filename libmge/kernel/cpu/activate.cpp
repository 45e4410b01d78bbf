// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/activate.h"

#include "libmge/kernel/cpu/elementwise/simd_rows.h"
#include "libmge/kernel/cpu/scalar.h"

namespace mge::cpu {
namespace {

template <class F>
void apply(const F& functor, float* y, int64_t n) {
    static const RowsFn run = simd_rows<F>();
    Rows rows;
    rows.n = n;
    rows.in[0] = rows.out = reinterpret_cast<char*>(y);
    rows.functor = &functor;
    run(rows);
}

}  // namespace

void activate(Activation activation, float* y, int64_t n) {
    switch (activation) {
        case Activation::none:
            return;
        case Activation::relu:
            return apply(functor::Relu{.keeps_nan = false}, y, n);
        case Activation::relu6:
            return apply(functor::Relu6{.keeps_nan = false}, y, n);
        case Activation::relu_keeps_nan:
            return apply(functor::Relu{.keeps_nan = true}, y, n);
        case Activation::relu6_keeps_nan:
            return apply(functor::Relu6{.keeps_nan = true}, y, n);
        case Activation::hswish:
            return apply(functor::Hswish(), y, n);
        case Activation::silu:
            return apply(functor::Silu(), y, n);
        case Activation::gelu:
            return apply(functor::Gelu(), y, n);
        case Activation::sigmoid:
            return apply(functor::Sigmoid(), y, n);
        case Activation::tanh:
            return apply(functor::Tanh(), y, n);
    }
}

}  // namespace mge::cpu

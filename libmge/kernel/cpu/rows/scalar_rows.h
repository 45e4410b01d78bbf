// SPDX-License-Identifier: Apache-2.0
#pragma once
// A functor of kernel/scalar as plain loops: over rows for integers and bools, element by element for
// references. The compiler may vectorise the former for the baseline instruction set.

#include <algorithm>

#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/kernel/cpu/scalar.h"

namespace mge::cpu {

// The argument type for a stored T: bools as bytes.
template <class T>
using ScalarOf = Scalar<std::conditional_t<std::is_same_v<T, bool>, uint8_t, ComputedAs<T>>>;
template <class T>
auto load_scalar(T value) {
    return ScalarOf<T>::of(decltype(ScalarOf<T>::v)(value));
}
// Results keep the dtype of the inputs, except that masks are bools.
template <class T>
T stored(ScalarOf<T> y) {
    return T(y.v);
}
template <class T>
bool stored(Mask y) {
    return y.v;
}

template <class F, class T>
inline constexpr bool is_unary = requires(F f, T x) {
    f(load_scalar(x));
};

// One element: addresses of the inputs, of the result, and of the functor.
using ElementFn = void (*)(const void* const* in, void* out, const void* functor);

template <class F, class T>
void scalar_element(const void* const* in, void* out, const void* functor) {
    F f = *static_cast<const F*>(functor);
    auto at = [&](int i) { return load_scalar(*static_cast<const T*>(in[i])); };
    auto store = [&](auto y) { *static_cast<decltype(stored<T>(y))*>(out) = stored<T>(y); };
    if constexpr (is_unary<F, T>)
        store(f(at(0)));
    else
        store(f(at(0), at(1)));
}

template <class F, class T>
void scalar_unary_rows(const Rows& r) {
    F f = *static_cast<const F*>(r.functor);
    const int64_t n = r.n;  // read once: a store of a byte could change r
    for (int64_t row = 0; row < r.rows; ++row) {
        const T* x = r.input<T>(0, row);
        auto* y = r.output<decltype(stored<T>(f(load_scalar(T()))))>(row);
        if (r.is_scalar[0])
            std::fill_n(y, n, stored<T>(f(load_scalar(*x))));
        else
            for (int64_t i = 0; i < n; ++i) y[i] = stored<T>(f(load_scalar(x[i])));
    }
}

template <class F, class T>
void scalar_binary_rows(const Rows& r) {
    F f = *static_cast<const F*>(r.functor);
    const int64_t n = r.n;  // read once: a store of a byte could change r
    for (int64_t row = 0; row < r.rows; ++row) {
        const T *a = r.input<T>(0, row), *b = r.input<T>(1, row);
        auto* y = r.output<decltype(stored<T>(f(load_scalar(T()), load_scalar(T()))))>(row);
        auto first_a = load_scalar(*a), first_b = load_scalar(*b);
        if (r.is_scalar[0] && r.is_scalar[1])
            std::fill_n(y, n, stored<T>(f(first_a, first_b)));
        else if (r.is_scalar[0])
            for (int64_t i = 0; i < n; ++i) y[i] = stored<T>(f(first_a, load_scalar(b[i])));
        else if (r.is_scalar[1])
            for (int64_t i = 0; i < n; ++i) y[i] = stored<T>(f(load_scalar(a[i]), first_b));
        else
            for (int64_t i = 0; i < n; ++i) y[i] = stored<T>(f(load_scalar(a[i]), load_scalar(b[i])));
    }
}

// Bools as bytes: results are 0 and 1 without a comparison, and two dtypes share their loops.
template <class F, class T>
constexpr RowsFn scalar_rows() {
    using Element = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;
    if constexpr (is_unary<F, Element>)
        return scalar_unary_rows<F, Element>;
    else
        return scalar_binary_rows<F, Element>;
}

// A prepared reference: each element separately, located by division.
struct ElementState {
    ElementFn run = nullptr;
    TensorSpecs inputs;
    TensorSpec output;
    alignas(double) std::array<char, max_functor_bytes> functor{};
};
Prepared prepare_elements(const Problem& problem, ElementFn run, const void* functor, size_t functor_bytes);
void run_elements(const Prepared& prepared, const Launch& launch);

}  // namespace mge::cpu

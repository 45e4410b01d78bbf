// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an elementwise operator gets its CPU algorithms from its functor. A group's .cpu.cpp says
//
//     template <> struct ElementwiseOf<Add> : Elementwise<functor::Add> {};
//     template KernelList kernels(Cpu, Add);

#include "libmge/kernel/cpu/elementwise/simd_rows.h"
#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/cpu/rows/scalar_rows.h"
#include "libmge/ops/elementwise/elementwise.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {

namespace functor = cpu::functor;

// Elements per thread that are worth a second one: an addition takes far less than a nanosecond, a logarithm
// about one.
inline constexpr int64_t cheap_grain = 32768, costly_grain = 4096;

template <class F, int64_t grain_ = cheap_grain>
struct Elementwise {
    using Functor = F;
    static constexpr int64_t grain = grain_;
    static F make(const NoParams&) { return {}; }
};
template <class F>
using Costly = Elementwise<F, costly_grain>;

template <class O>
struct ElementwiseOf;

template <Accepts accepts>
constexpr auto accepted_types() {
    if constexpr (accepts == Accepts::floats)
        return Types<Half, BFloat16, float, double>{};
    else if constexpr (accepts == Accepts::integers)
        return IntTypes{};
    else if constexpr (accepts == Accepts::numbers)
        return NumberTypes{};
    else if constexpr (accepts == Accepts::bools)
        return Types<bool>{};
    else
        return AllTypes{};
}

template <class O>
auto functor_of(const Problem& p) {
    return ElementwiseOf<O>::make(p.as<typename O::Params>());
}

constexpr bool has_simd(DType dtype) { return is_float(dtype) && dtype != DType::f64; }
// Rarer dtypes are left to the reference: loops for each operator would make the library a twentieth larger.
constexpr bool is_rowed(DType dtype) { return !is_float(dtype) && is_among(dtype, DTypes::common); }

template <class O>
Support supports_simd(const Problem& p) {
    return has_simd(p.inputs[0].dtype) ? supported : Support{"only float16, bfloat16 and float32"};
}
template <class O>
Prepared prepare_simd(const PrepareContext& context) {
    auto& p = context.problem;
    static const cpu::RowsFn f32 = cpu::simd_rows<typename ElementwiseOf<O>::Functor>();
    bool is_half = p.inputs[0].dtype != DType::f32;
    auto functor = functor_of<O>(p);
    return cpu::prepare_elementwise(p, is_half ? cpu::half_rows(p.inputs[0].dtype, p.outputs[0].dtype) : f32,
                                    is_half ? f32 : nullptr, &functor, sizeof functor,
                                    ElementwiseOf<O>::grain);
}

template <class O>
Support supports_rows(const Problem& p) {
    return is_rowed(p.inputs[0].dtype) ? supported : Support{"only integers up to int64 and bools"};
}
template <class O>
Prepared prepare_rows(const PrepareContext& context) {
    using F = typename ElementwiseOf<O>::Functor;
    auto functor = functor_of<O>(context.problem);
    cpu::RowsFn run = nullptr;
    dispatch_dtype(context.problem.inputs[0].dtype, accepted_types<O::accepted>(),
                   [&]<class T>(std::type_identity<T>) {
                       if constexpr (is_rowed(DTypeOf<T>)) run = &cpu::scalar_rows<F, T>;
                   });
    return cpu::prepare_elementwise(context.problem, run, nullptr, &functor, sizeof functor,
                                    ElementwiseOf<O>::grain);
}

template <class O>
Prepared prepare_reference(const PrepareContext& context) {
    using F = typename ElementwiseOf<O>::Functor;
    auto functor = functor_of<O>(context.problem);
    cpu::ElementFn run = nullptr;
    dispatch_dtype(context.problem.inputs[0].dtype, accepted_types<O::accepted>(),
                   [&]<class T>(std::type_identity<T>) { run = &cpu::scalar_element<F, T>; });
    return cpu::prepare_elements(context.problem, run, &functor, sizeof functor);
}

template <class O>
inline constexpr Algorithm rows_algorithm{"rows", supports_rows<O>, prepare_rows<O>, cpu::run_elementwise};
template <class O>
inline constexpr Algorithm reference_algorithm{
    "reference", always, prepare_reference<O>, cpu::run_elements, {.naive = true}};

template <ElementwiseOp O>
KernelList kernels(Cpu, O) {
    if constexpr (O::accepted == Accepts::integers || O::accepted == Accepts::bools) {
        static constexpr Algorithm list[] = {rows_algorithm<O>, reference_algorithm<O>};
        return list;
    } else {
        static constexpr Algorithm list[] = {
            {"simd", supports_simd<O>, prepare_simd<O>, cpu::run_elementwise},
            rows_algorithm<O>,
            reference_algorithm<O>};
        return list;
    }
}

}  // namespace mge::ops

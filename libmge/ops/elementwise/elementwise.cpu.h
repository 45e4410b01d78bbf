// SPDX-License-Identifier: Apache-2.0
#pragma once
// How an elementwise operator gets its CPU algorithms from its functor. A group's .cpu.cpp says
//
//     KernelList kernels(Cpu, Add) { return elementwise<Add, functor::Add>(); }

#include <bit>

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

// The members of a functor are the parameters of its operator.
template <class O, class F>
F functor_of(const Problem& p) {
    if constexpr (std::is_same_v<typename O::Params, NoParams>)
        return {};
    else
        return std::bit_cast<F>(p.as<typename O::Params>());
}

constexpr bool has_simd(DType dtype) { return is_float(dtype) && dtype != DType::f64; }
// Rarer dtypes are left to the reference: loops for each operator would make the library a twentieth larger.
constexpr bool is_rowed(DType dtype) { return !is_float(dtype) && is_among(dtype, DTypes::common); }

template <class O>
Support supports_simd(const Problem& p) {
    return has_simd(p.inputs[0].dtype) ? supported : Support{"only float16, bfloat16 and float32"};
}
template <class O, class F, int64_t grain>
Prepared prepare_simd(const PrepareContext& context) {
    auto& p = context.problem;
    static const cpu::RowsFn f32 = cpu::simd_rows<F>();
    bool is_half = p.inputs[0].dtype != DType::f32;
    auto functor = functor_of<O, F>(p);
    return cpu::prepare_elementwise(p, is_half ? cpu::half_rows(p.inputs[0].dtype, p.outputs[0].dtype) : f32,
                                    is_half ? f32 : nullptr, &functor, sizeof functor, grain);
}

template <class O>
Support supports_rows(const Problem& p) {
    return is_rowed(p.inputs[0].dtype) ? supported : Support{"only integers up to int64 and bools"};
}
template <class O, class F, int64_t grain>
Prepared prepare_rows(const PrepareContext& context) {
    auto functor = functor_of<O, F>(context.problem);
    cpu::RowsFn run = nullptr;
    dispatch_dtype(context.problem.inputs[0].dtype, accepted_types<O::accepted>(),
                   [&]<class T>(std::type_identity<T>) {
                       if constexpr (is_rowed(DTypeOf<T>)) run = cpu::scalar_rows<F, T>();
                   });
    return cpu::prepare_elementwise(context.problem, run, nullptr, &functor, sizeof functor, grain);
}

template <class O, class F>
Prepared prepare_reference(const PrepareContext& context) {
    auto functor = functor_of<O, F>(context.problem);
    cpu::ElementFn run = nullptr;
    dispatch_dtype(context.problem.inputs[0].dtype, accepted_types<O::accepted>(),
                   [&]<class T>(std::type_identity<T>) { run = &cpu::scalar_element<F, T>; });
    return cpu::prepare_elements(context.problem, run, &functor, sizeof functor);
}

template <ElementwiseOp O, class F, int64_t grain = cheap_grain>
KernelList elementwise() {
    static constexpr Algorithm rows{"rows", supports_rows<O>, prepare_rows<O, F, grain>,
                                    cpu::run_elementwise};
    static constexpr Algorithm reference{
        "reference", always, prepare_reference<O, F>, cpu::run_elements, {.naive = true}};
    if constexpr (O::accepted == Accepts::integers || O::accepted == Accepts::bools) {
        static constexpr Algorithm list[] = {rows, reference};
        return list;
    } else {
        static constexpr Algorithm list[] = {
            {"simd", supports_simd<O>, prepare_simd<O, F, grain>, cpu::run_elementwise}, rows, reference};
        return list;
    }
}
template <ElementwiseOp O, class F>
KernelList costly_elementwise() {
    return elementwise<O, F, costly_grain>();
}

}  // namespace mge::ops

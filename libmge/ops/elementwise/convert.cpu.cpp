// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert.h"

#include <cstring>

#include "libmge/kernel/cpu/half.h"
#include "libmge/kernel/cpu/quantise_rows.h"
#include "libmge/kernel/cpu/scalar_rows.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// What x86's conversion instruction does, said without undefined behaviour.
int32_t truncate_to_i32(float x) { return x >= -2147483648.f && x < 2147483648.f ? int32_t(x) : INT32_MIN; }
int64_t truncate_to_i64(float x) { return x >= -0x1p63f && x < 0x1p63f ? int64_t(x) : INT64_MIN; }

template <class To, class From>
To convert_value(From x) {
    if constexpr (std::is_same_v<To, bool>)
        return typename cpu::ComputedAs<From>::Type(x) != 0;
    else if constexpr (is_float(DTypeOf<To>))
        return To(float(x));
    else if constexpr (!is_float(DTypeOf<From>))
        return To(x);
    else if constexpr (std::is_same_v<To, int64_t>)
        return truncate_to_i64(float(x));
    else
        return To(truncate_to_i32(float(x)));
}

template <class From, class To>
void convert_element(const void* const* in, void* out, const void*) {
    *static_cast<To*>(out) = convert_value<To>(*static_cast<const From*>(in[0]));
}

template <class From, class To>
void convert_run(const From* x, To* y, int64_t n) {
    constexpr bool from_half = is_float(DTypeOf<From>) && sizeof(From) == 2;
    constexpr bool to_byte = std::is_same_v<To, uint8_t> || std::is_same_v<To, int8_t>;
    constexpr bool to_half = is_float(DTypeOf<To>) && sizeof(To) == 2;
    if constexpr (std::is_same_v<From, To>) {
        std::memmove(y, x, size_t(n) * sizeof(To));
    } else if constexpr (from_half && std::is_same_v<To, float>) {
        cpu::halves_to_floats(x, y, n);
    } else if constexpr (to_half && std::is_same_v<From, float>) {
        cpu::floats_to_halves(x, y, n);
    } else if constexpr (std::is_same_v<From, uint8_t> && std::is_same_v<To, float>) {
        cpu::quantise_rows().from_u8(x, y, n, {.scale = 1});
    } else if constexpr (std::is_same_v<From, int8_t> && std::is_same_v<To, float>) {
        cpu::quantise_rows().from_i8(x, y, n, {.scale = 1});
    } else if constexpr (std::is_same_v<From, float> && to_byte) {
        cpu::quantise_rows().to_low_byte(x, reinterpret_cast<uint8_t*>(y), n);
    } else {
        for (int64_t i = 0; i < n; ++i) y[i] = convert_value<To>(x[i]);
    }
}

template <class From, class To>
void convert_rows(const cpu::Rows& r) {
    for (int64_t row = 0; row < r.rows; ++row) {
        const From* x = r.input<From>(0, row);
        To* y = r.output<To>(row);
        if (!r.is_scalar[0] || r.n == 1)
            convert_run(x, y, r.n);
        else
            for (int64_t i = 0; i < r.n; ++i) y[i] = convert_value<To>(*x);
    }
}

// Calls fn with the C++ types of a problem's input and output.
template <class Fn>
void dispatch_pair(const Problem& p, Fn fn) {
    dispatch_dtype(p.inputs[0].dtype, AllTypes{}, [&](auto from) {
        dispatch_dtype(p.outputs[0].dtype, AllTypes{}, [&](auto to) { fn(from, to); });
    });
}

Prepared prepare_convert(const PrepareContext& context) {
    cpu::RowsFn run = nullptr;
    dispatch_pair(context.problem, [&](auto from, auto to) {
        run = convert_rows<typename decltype(from)::type, typename decltype(to)::type>;
    });
    return cpu::prepare_elementwise(context.problem, run, nullptr, nullptr, 0, cheap_grain);
}
Prepared prepare_reference(const PrepareContext& context) {
    cpu::ElementFn run = nullptr;
    dispatch_pair(context.problem, [&](auto from, auto to) {
        run = convert_element<typename decltype(from)::type, typename decltype(to)::type>;
    });
    return cpu::prepare_elements(context.problem, run, nullptr, 0);
}

constexpr Algorithm algorithms[] = {
    {"rows", always, prepare_convert, cpu::run_elementwise},
    {"reference", always, prepare_reference, cpu::run_elements, {.naive = true}}};

}  // namespace

KernelList kernels(Cpu, Convert) { return algorithms; }
KernelList kernels(Cpu, Copy) { return algorithms; }

}  // namespace mge::ops

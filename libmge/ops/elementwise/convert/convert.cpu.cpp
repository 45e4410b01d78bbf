// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/convert/convert.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/rows/half.h"
#include "libmge/kernel/cpu/rows/quantise_rows.h"
#include "libmge/kernel/cpu/rows/scalar_rows.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/narrow.h"
#include "libmge/tensor/truncate.h"

namespace mge::ops {
namespace {

template <class To, class From>
To convert_value(From x) {
    if constexpr (std::is_same_v<To, bool>)
        return ComputedAs<From>(x) != 0;
    else if constexpr (is_float(DTypeOf<To>))
        return To(ComputedAs<To>(ComputedAs<From>(x)));
    else if constexpr (!is_float(DTypeOf<From>))
        return To(x);
    else if constexpr (std::is_same_v<To, uint64_t>)
        return truncate_to_u64(ComputedAs<From>(x));
    else if constexpr (sizeof(To) == 8 || std::is_same_v<To, uint32_t>)
        return To(truncate_to_i64(ComputedAs<From>(x)));
    else
        return To(truncate_to_i32(ComputedAs<From>(x)));
}

template <class From, class To>
void convert_element(const void* const* in, void* out, const void*) {
    *static_cast<To*>(out) = convert_value<To>(*static_cast<const From*>(in[0]));
}

template <class From, class To>
void convert_run(const From* x, To* y, int64_t n) {
    constexpr bool from_half = is_half(DTypeOf<From>), to_half = is_half(DTypeOf<To>);
    constexpr bool to_byte = std::is_same_v<To, uint8_t> || std::is_same_v<To, int8_t>;
    if constexpr (std::is_same_v<From, To>) {
        std::memmove(y, x, size_t(n) * sizeof(To));
    } else if constexpr (from_half && std::is_same_v<To, float>) {
        cpu::halves_to_floats(x, y, n);
    } else if constexpr (to_half && std::is_same_v<From, float>) {
        cpu::floats_to_halves(x, y, n);
    } else if constexpr (from_half || to_half) {
        constexpr int64_t block = 1024;
        alignas(64) float values[block];
        for (int64_t i = 0; i < n; i += block) {
            const int64_t count = std::min(block, n - i);
            convert_run(x + i, values, count);
            convert_run<float, To>(values, y + i, count);
        }
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
            std::fill_n(y, r.n, convert_value<To>(*x));
    }
}

// --- narrow dtypes: which ones, only a run knows ---

struct NarrowPair {
    DType from, to;
};

template <class From>
void narrow_element(const void* const* in, void* out, const void* pair) {
    DType to = static_cast<const NarrowPair*>(pair)->to;
    auto x = ComputedAs<From>(*static_cast<const From*>(in[0]));
    uint8_t& y = *static_cast<uint8_t*>(out);
    if constexpr (is_float(DTypeOf<From>))
        y = narrow_bits(to, double(x));
    else
        y = is_narrow_int(to) ? narrow_bits(to, int64_t(x)) : narrow_bits(to, double(x));
}
template <class To>
void widen_element(const void* const* in, void* out, const void* pair) {
    float x = narrow_value(static_cast<const NarrowPair*>(pair)->from, *static_cast<const uint8_t*>(in[0]));
    *static_cast<To*>(out) = convert_value<To>(x);
}
void renarrow_element(const void* const* in, void* out, const void* pair) {
    auto [from, to] = *static_cast<const NarrowPair*>(pair);
    uint8_t x = *static_cast<const uint8_t*>(in[0]);
    *static_cast<uint8_t*>(out) = from == to ? x : narrow_bits(to, double(narrow_value(from, x)));
}

// --- pairs of dtypes ---

// Calls fn with the C++ types of a problem's input and output.
template <class Fn>
void dispatch_pair(const Problem& p, Fn fn) {
    dispatch_dtype(p.inputs[0].dtype, AllTypes{}, [&](auto from) {
        dispatch_dtype(p.outputs[0].dtype, AllTypes{}, [&](auto to) { fn(from, to); });
    });
}

NarrowPair pair_of(const Problem& p) { return {p.inputs[0].dtype, p.outputs[0].dtype}; }
bool has_narrow(const Problem& p) { return is_narrow(pair_of(p).from) || is_narrow(pair_of(p).to); }

cpu::ElementFn element_of(const Problem& p) {
    auto [from, to] = pair_of(p);
    cpu::ElementFn run = renarrow_element;
    if (!has_narrow(p))
        dispatch_pair(p, [&]<class From, class To>(std::type_identity<From>, std::type_identity<To>) {
            run = convert_element<From, To>;
        });
    else if (is_narrow(to) && !is_narrow(from))
        dispatch_dtype(from, AllTypes{}, [&]<class T>(std::type_identity<T>) { run = narrow_element<T>; });
    else if (!is_narrow(to))
        dispatch_dtype(to, AllTypes{}, [&]<class T>(std::type_identity<T>) { run = widen_element<T>; });
    return run;
}

Support supports_rows(const Problem& p) { return has_narrow(p) ? Support{"no narrow dtypes"} : supported; }
Prepared prepare_convert(const PrepareContext& context) {
    cpu::RowsFn run = nullptr;
    dispatch_pair(context.problem, [&](auto from, auto to) {
        run = convert_rows<typename decltype(from)::type, typename decltype(to)::type>;
    });
    return cpu::prepare_elementwise(context.problem, run, nullptr, nullptr, 0, cheap_grain);
}
Prepared prepare_reference(const PrepareContext& context) {
    NarrowPair pair = pair_of(context.problem);
    return cpu::prepare_elements(context.problem, element_of(context.problem), &pair, sizeof pair);
}

constexpr Algorithm algorithms[] = {
    {"rows", supports_rows, prepare_convert, cpu::run_elementwise},
    {"reference", always, prepare_reference, cpu::run_elements, {.naive = true}}};

}  // namespace

KernelList kernels(Cpu, Convert) { return algorithms; }
KernelList kernels(Cpu, Copy) { return algorithms; }

}  // namespace mge::ops

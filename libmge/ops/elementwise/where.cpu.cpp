// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/where.h"

#include "libmge/kernel/cpu/rows/scalar_rows.h"
#include "libmge/ops/elementwise/elementwise.cpu.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// Only bytes move, so one instance serves all dtypes of a size. Masks are tested as bytes.
template <class T>
void where_element(const void* const* in, void* out, const void*) {
    bool yes = *static_cast<const uint8_t*>(in[0]) != 0;
    *static_cast<T*>(out) = *static_cast<const T*>(in[yes ? 1 : 2]);
}

// `stride` 0 or 1, known to the compiler, so that it can vectorise.
template <class T, int stride_a, int stride_b>
void choose(const uint8_t* mask, const T* a, const T* b, T* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) {
        T yes = a[i * stride_a], no = b[i * stride_b];
        y[i] = mask[i] ? yes : no;
    }
}
template <class T>
void copy_row(const T* x, bool repeats, T* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[repeats ? 0 : i];
}
template <class T>
void where_rows(const cpu::Rows& r) {
    for (int64_t row = 0; row < r.rows; ++row) {
        auto* mask = r.input<uint8_t>(0, row);
        auto *a = r.input<T>(1, row), *b = r.input<T>(2, row);
        auto* y = r.output<T>(row);
        bool repeats_a = r.is_scalar[1], repeats_b = r.is_scalar[2];
        if (r.is_scalar[0])
            copy_row(*mask ? a : b, *mask ? repeats_a : repeats_b, y, r.n);
        else if (repeats_a && repeats_b)
            choose<T, 0, 0>(mask, a, b, y, r.n);
        else if (repeats_a)
            choose<T, 0, 1>(mask, a, b, y, r.n);
        else if (repeats_b)
            choose<T, 1, 0>(mask, a, b, y, r.n);
        else
            choose<T, 1, 1>(mask, a, b, y, r.n);
    }
}

Prepared prepare_where(const PrepareContext& context) {
    cpu::RowsFn run = nullptr;
    dispatch_size(context.problem.outputs[0].dtype,
                  [&]<class T>(std::type_identity<T>) { run = where_rows<T>; });
    return cpu::prepare_elementwise(context.problem, run, nullptr, nullptr, 0, cheap_grain);
}
Prepared prepare_where_reference(const PrepareContext& context) {
    cpu::ElementFn run = nullptr;
    dispatch_size(context.problem.outputs[0].dtype,
                  [&]<class T>(std::type_identity<T>) { run = where_element<T>; });
    return cpu::prepare_elements(context.problem, run, nullptr, 0);
}

}  // namespace

KernelList kernels(Cpu, Where) {
    static constexpr Algorithm list[] = {
        {"rows", always, prepare_where, cpu::run_elementwise},
        {"reference", always, prepare_where_reference, cpu::run_elements, {.naive = true}}};
    return list;
}

}  // namespace mge::ops

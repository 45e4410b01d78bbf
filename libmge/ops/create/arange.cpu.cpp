// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/arange.h"

#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// value(i) = start + i * step, computed in f64.
struct Line {
    double start, step;
    int64_t count;
    DType dtype;
};

Prepared prepare_arange(const PrepareContext& context) {
    auto& p = context.problem.as<Arange::Params>();
    auto& y = context.problem.outputs[0];
    return Prepared::make(Line{p.start, p.step, y.numel(), y.dtype});
}
Prepared prepare_linspace(const PrepareContext& context) {
    auto& p = context.problem.as<Linspace::Params>();
    double step = p.num > 1 ? (p.stop - p.start) / double(p.num - 1) : 0;
    return Prepared::make(Line{p.start, step, p.num, DType::f32});
}

void run_line(const Prepared& prepared, const Launch& launch) {
    auto& line = prepared.state<Line>();
    dispatch_dtype(line.dtype, NumberTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        for (int64_t i = 0; i < line.count; ++i) {
            double value = line.start + double(i) * line.step;
            if constexpr (std::is_integral_v<T>)
                launch.out<T>(0)[i] = T(int64_t(value));
            else
                launch.out<T>(0)[i] = T(float(value));
        }
    });
}

}  // namespace

KernelList kernels(Cpu, Arange) {
    static constexpr Algorithm list[] = {{"reference", plain_layouts, prepare_arange, run_line}};
    return list;
}
KernelList kernels(Cpu, Linspace) {
    static constexpr Algorithm list[] = {{"reference", plain_layouts, prepare_linspace, run_line}};
    return list;
}

}  // namespace mge::ops

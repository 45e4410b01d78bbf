// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/arange.h"

#include <algorithm>

#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/truncate.h"

namespace mge::ops {
namespace {

// value(i) = start + i * step, computed in f64.
struct Line {
    double start, step;
    int64_t count;
    DType dtype;
};

// Its ends may be inputs; none: they are known.
struct Ends {
    double start, stop;
    int64_t count;
    DType first = DType::none, last = DType::none;
};

Prepared prepare_arange(const PrepareContext& context) {
    auto& p = context.problem.as<Arange::Params>();
    auto& y = context.problem.outputs[0];
    return Prepared::make(Line{p.start, p.step, y.numel(), y.dtype});
}
Prepared prepare_linspace(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& p = problem.as<Linspace::Params>();
    auto dtype_of = [&](size_t i) { return problem.has_input(i) ? problem.inputs[i].dtype : DType::none; };
    return Prepared::make(Ends{p.start, p.stop, p.num, dtype_of(0), dtype_of(1)});
}

// Counts in int32, which vectors convert to double.
void run_line(const Line& line, const Launch& launch) {
    constexpr int64_t block = 1 << 30;
    dispatch_dtype(line.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        for (int64_t begin = 0; begin < line.count; begin += block) {
            const auto n = int32_t(std::min(block, line.count - begin));
            for (int32_t i = 0; i < n; ++i) {
                T& y = launch.out<T>(0)[begin + i];
                double value = line.start + (double(begin) + double(i)) * line.step;
                if constexpr (std::is_same_v<T, uint64_t>)
                    y = truncate_to_u64(value);
                else if constexpr (std::is_integral_v<T>)
                    y = T(truncate_to_i64(value));
                else
                    y = T(ComputedAs<T>(value));
            }
        }
    });
}

void run_arange(const Prepared& prepared, const Launch& launch) { run_line(prepared.state<Line>(), launch); }

double number(const Launch& launch, size_t input, DType dtype, double otherwise) {
    if (dtype == DType::none) return otherwise;
    double value = 0;
    dispatch_dtype(dtype, NumberTypes{},
                   [&]<class T>(std::type_identity<T>) { value = double(*launch.in<T>(input)); });
    return value;
}

void run_linspace(const Prepared& prepared, const Launch& launch) {
    auto& ends = prepared.state<Ends>();
    double start = number(launch, 0, ends.first, ends.start), stop = number(launch, 1, ends.last, ends.stop);
    double step = ends.count > 1 ? (stop - start) / double(ends.count - 1) : 0;
    run_line({start, step, ends.count, DType::f32}, launch);
}

}  // namespace

KernelList kernels(Cpu, Arange) { return one_algorithm<prepare_arange, run_arange>("reference"); }
KernelList kernels(Cpu, Linspace) { return one_algorithm<prepare_linspace, run_linspace>("reference"); }

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
// If the innermost axis is kept, rows of x are added up as by other reductions. If it is summed, each output
// element adds up runs of x, floats in f32 over shorter blocks than in those: gradients are summed over whole
// batches. The order of additions does not depend on the number of threads.
#include "libmge/ops/shape/reduce_to_shape.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/cpu/reduce/reduce.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/kernel/strided_copy.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

constexpr int64_t block = 32;  // terms that are added in f32 before they go into the f64 sum
constexpr int64_t lanes = 16;  // independent sums of a run: hides the latency of additions

struct Axis {
    int64_t extent, stride;  // stride in x
};
struct Sums {
    std::vector<Axis> kept, summed;  // outermost first; neighbouring axes of one kind are one
    DType dtype = DType::f32;
    int64_t outputs = 1;
};

// The axes that the result lacks or has once.
std::array<bool, max_rank> summed_axes(const Problem& problem) {
    auto &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
    int offset = x.rank() - y.rank();
    std::array<bool, max_rank> summed{};
    for (int i = 0; i < x.rank(); ++i) summed[size_t(i)] = i < offset || y[i - offset] == 1;
    return summed;
}

// Whether rows are added up: the innermost axis that has an extent is kept, and there is another.
Support supports_rows(const Problem& problem) {
    auto& x = problem.inputs[0].shape;
    int inner = x.rank() - 1;
    while (inner >= 0 && x[inner] == 1) --inner;
    if (inner < 0 || summed_axes(problem)[size_t(inner)]) return {"only where the innermost axis is kept"};
    if (problem.inputs[0].numel() == problem.outputs[0].numel()) return {"nothing is summed"};
    return plain_layouts(problem);
}

Support supports_blocks(const Problem& problem) {
    if (supports_rows(problem)) return {"only where the innermost axis is summed, or none"};
    return plain_layouts(problem);
}

Prepared prepare_rows(const PrepareContext& context) {
    auto& problem = context.problem;
    return cpu::prepare_reduction(problem, summed_axes(problem), cpu::Reduction::sum, false);
}

Prepared prepare_sums(const PrepareContext& context) {
    auto &x = context.problem.inputs[0], &y = context.problem.outputs[0];
    Sums sums;
    sums.dtype = x.dtype;
    sums.outputs = y.numel();
    Strides stride = dense_strides(x.shape);
    auto is_summed = summed_axes(context.problem);
    bool previous = false, first = true;
    for (int i = 0; i < x.shape.rank(); ++i) {
        if (x.shape[i] == 1) continue;
        bool summed = is_summed[size_t(i)];
        auto& axes = summed ? sums.summed : sums.kept;
        Axis axis{x.shape[i], stride[size_t(i)]};
        if (!first && summed == previous)
            axes.back() = {axes.back().extent * axis.extent, axis.stride};
        else
            axes.push_back(axis);
        previous = summed;
        first = false;
    }
    return Prepared::make(std::move(sums));
}

int64_t count(std::span<const Axis> axes) {
    int64_t n = 1;
    for (auto& axis : axes) n *= axis.extent;
    return n;
}
int64_t place(std::span<const Axis> axes, int64_t position) {
    int64_t offset = 0;
    for (size_t i = axes.size(); i-- > 0;) {
        offset += position % axes[i].extent * axes[i].stride;
        position /= axes[i].extent;
    }
    return offset;
}

template <class T>
using BlockSum = std::conditional_t<std::is_integral_v<T>, int64_t, ComputedAs<T>>;
template <class T>
using Sum = std::conditional_t<std::is_integral_v<T>, int64_t, double>;

template <class T>
T narrow(Sum<T> sum) {
    if constexpr (std::is_integral_v<T>)
        return T(sum);
    else
        return T(ComputedAs<T>(sum));
}

template <class T>
Sum<T> sum_run(const T* x, int64_t n) {
    Sum<T> total = 0;
    int64_t i = 0;
    for (; i + lanes <= n;) {
        BlockSum<T> sums[lanes] = {};
        int64_t end = std::min(i + lanes * block, n - lanes + 1);
        for (; i < end; i += lanes)
            for (int64_t lane = 0; lane < lanes; ++lane) sums[lane] += BlockSum<T>(x[i + lane]);
        for (auto sum : sums) total += Sum<T>(sum);
    }
    for (; i < n; ++i) total += Sum<T>(BlockSum<T>(x[i]));
    return total;
}

// Outputs [begin, end).
template <class T>
void sum_runs(const Sums& sums, const Launch& launch, int64_t begin, int64_t end) {
    std::span outer = std::span(sums.summed).first(sums.summed.size() - 1);
    int64_t length = sums.summed.back().extent, runs = count(outer);
    for (int64_t o = begin; o < end; ++o) {
        const T* from = launch.in<T>(0) + place(sums.kept, o);
        Sum<T> total = 0;
        for (int64_t r = 0; r < runs; ++r) total += sum_run(from + place(outer, r), length);
        launch.out<T>(0)[o] = narrow<T>(total);
    }
}

void run_sums(const Prepared& prepared, const Launch& launch) {
    auto& sums = prepared.state<Sums>();
    if (sums.outputs == 0) return;
    if (sums.summed.empty()) {
        if (launch.inputs[0] != launch.outputs[0])
            std::memcpy(launch.outputs[0], launch.inputs[0], size_t(sums.outputs) * size_of(sums.dtype));
        return;
    }
    auto run = sum_runs<float>;
    dispatch_dtype(sums.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) { run = sum_runs<T>; });
    par_for(launch.threads, sums.outputs,
            std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, count(sums.summed))),
            [&](int64_t begin, int64_t end) { run(sums, launch, begin, end); });
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<ReduceToShape::Params>>();
    auto &x = problem.inputs[0].shape, &y = problem.outputs[0].shape;
    Strides strides = broadcast_strides(y, x);
    dispatch_dtype(problem.inputs[0].dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        std::vector<Sum<T>> sums(size_t(y.numel()));
        for (int64_t n = 0, count = x.numel(); n < count; ++n) {
            int64_t to = 0, rest = n;
            for (int i = x.rank() - 1; i >= 0; --i) {
                to += rest % x[i] * strides[size_t(i)];
                rest /= x[i];
            }
            sums[size_t(to)] += Sum<T>(BlockSum<T>(launch.in<T>(0)[n]));
        }
        for (size_t i = 0; i < sums.size(); ++i) launch.out<T>(0)[i] = narrow<T>(sums[i]);
    });
}

}  // namespace

KernelList kernels(Cpu, ReduceToShape) {
    static constexpr Algorithm list[] = {
        {"rows", supports_rows, prepare_rows, cpu::run_reduction},
        {"blocks", supports_blocks, prepare_sums, run_sums},
        {"reference", plain_layouts, copy_problem<ReduceToShape::Params>, run_reference, {.naive = true}}};
    return list;
}

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/one_hot.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/check_indices.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

void run_one_hot(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<OneHot::Params>>();
    auto* index = launch.in<int32_t>(0);
    auto* y = launch.out<int32_t>(0);
    int64_t n = problem.inputs[0].numel(), classes = problem.params.num_classes;
    check_indices(OneHot::name, problem.inputs[0].shape.rank(), index, n, classes, NegativeIndices::refused);
    par_for(launch.threads, n, std::max<int64_t>(1, parallel_grain / classes),
            [&](int64_t begin, int64_t end) {
                std::fill(y + begin * classes, y + end * classes, 0);
                for (int64_t i = begin; i < end; ++i) y[i * classes + index[i]] = 1;
            });
}

// x is outer × extent × inner, the index outer × inner.
struct Picks {
    std::string_view op;
    int axis;
    int64_t outer = 1, extent, inner = 1;
    DType dtype;
    size_t bytes;  // size of x
    int64_t place(int64_t i, int64_t index) const { return (i / inner * extent + index) * inner + i % inner; }
};

Prepared prepare_picks(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& x = problem.inputs[0];
    int axis = normalize_axis(problem.op, problem.as<IndexingOneHot::Params>().axis, x.shape.rank());
    Picks picks{problem.op, axis, 1, x.shape[axis], 1, x.dtype, x.bytes()};
    for (int i = 0; i < axis; ++i) picks.outer *= x.shape[i];
    for (int i = axis + 1; i < x.shape.rank(); ++i) picks.inner *= x.shape[i];
    return Prepared::make(picks);
}

const int32_t* checked_index(const Picks& picks, const Launch& launch) {
    auto* index = launch.in<int32_t>(1);
    check_indices(picks.op, picks.axis, index, picks.outer * picks.inner, picks.extent,
                  NegativeIndices::refused);
    return index;
}

void run_pick(const Prepared& prepared, const Launch& launch) {
    auto& picks = prepared.state<Picks>();
    auto* index = checked_index(picks, launch);
    dispatch_size(picks.dtype, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, picks.outer * picks.inner, parallel_grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
                launch.out<T>(0)[i] = launch.in<T>(0)[picks.place(i, index[i])];
        });
    });
}

void run_set(const Prepared& prepared, const Launch& launch) {
    auto& picks = prepared.state<Picks>();
    auto* index = checked_index(picks, launch);
    if (launch.inputs[0] != launch.outputs[0] && picks.bytes)
        std::memcpy(launch.outputs[0], launch.inputs[0], picks.bytes);
    dispatch_size(picks.dtype, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, picks.outer * picks.inner, parallel_grain, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
                launch.out<T>(0)[picks.place(i, index[i])] = launch.in<T>(2)[i];
        });
    });
}

}  // namespace

KernelList kernels(Cpu, OneHot) {
    return one_algorithm<copy_problem<OneHot::Params>, run_one_hot>("reference");
}
KernelList kernels(Cpu, IndexingOneHot) { return one_algorithm<prepare_picks, run_pick>("reference"); }
KernelList kernels(Cpu, IndexingSetOneHot) { return one_algorithm<prepare_picks, run_set>("reference"); }

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/one_hot.h"

#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/index/indexed_elements.cuda.h"
#include "libmge/ops/index/one_hot.cuda.h"
#include "libmge/ops/index/place_order.cuda.h"

namespace mge::ops {
namespace {

void run_one_hot(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<OneHot::Params>>();
    auto& index = problem.inputs[0];
    if (index.numel() == 0) return;
    cuda::mark_classes(
        cuda::stream_of(launch), launch.in<int32_t>(0), index.numel(),
        {cuda::index_fault_of(launch), OneHot::name, index.shape.rank(), 0, problem.params.num_classes},
        launch.out<int32_t>(0));
}

struct Picks {
    cuda::IndexedElements elements;
    DType dtype;
    size_t bytes;  // size of x
};

Prepared prepare_picks(const PrepareContext& context) {
    auto& problem = context.problem;
    auto& x = problem.inputs[0];
    int axis = normalize_axis(problem.op, problem.as<IndexingOneHot::Params>().axis, x.shape.rank());
    Shape index = x.shape;
    index[axis] = 1;
    return Prepared::make(Picks{make_indexed_elements(problem, axis, index, 0), x.dtype, x.bytes()});
}

void run_pick(const Prepared& prepared, const Launch& launch) {
    auto& picks = prepared.state<Picks>();
    if (picks.elements.numel() == 0) return;
    cuda::gather_elements(cuda::stream_of(launch), launched(picks.elements, launch), size_of(picks.dtype),
                          launch.inputs[0], launch.outputs[0]);
}

void run_set(const Prepared& prepared, const Launch& launch) {
    auto& picks = prepared.state<Picks>();
    copy_first_input(launch, picks.bytes);
    if (picks.elements.numel() == 0) return;
    cuda::set_lines(cuda::stream_of(launch), launched(picks.elements, launch), size_of(picks.dtype),
                    launch.inputs[2], launch.outputs[0]);
}

}  // namespace

KernelList kernels(Cuda, OneHot) {
    return one_algorithm<copy_problem<OneHot::Params>, run_one_hot>("elements");
}
KernelList kernels(Cuda, IndexingOneHot) { return one_algorithm<prepare_picks, run_pick>("elements"); }
KernelList kernels(Cuda, IndexingSetOneHot) { return one_algorithm<prepare_picks, run_set>("elements"); }

}  // namespace mge::ops

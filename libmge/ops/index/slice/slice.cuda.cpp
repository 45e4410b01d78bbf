// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/slice/slice.h"

#include "libmge/kernel/cuda/copy/copy_algorithms.h"
#include "libmge/kernel/cuda/launch.h"
#include "libmge/ops/index/slice/slice.cuda.h"

namespace mge::ops {
namespace {

struct Setting {
    cuda::CopyPlan copy;
    size_t bytes;  // size of the whole tensor
};
Prepared prepare_set(const PrepareContext& context) {
    auto& problem = context.problem;
    return Prepared::make(Setting{cuda::CopyPlan(plan_slice_change(problem)), problem.inputs[0].bytes()});
}

void copy_whole(const Launch& launch, size_t bytes) {
    if (launch.inputs[0] != launch.outputs[0]) launch.queue->copy(launch.outputs[0], launch.inputs[0], bytes);
}

void run_set(const Prepared& prepared, const Launch& launch) {
    auto& setting = prepared.state<Setting>();
    copy_whole(launch, setting.bytes);
    setting.copy.run(launch, launch.inputs[1], launch.outputs[0]);
}

struct Adding {
    DType dtype;
    size_t bytes;
    bool has_places;
    int64_t value_offset, offset;  // in bytes
    cuda::IndexSpace<2> places;
};
Prepared prepare_add(const PrepareContext& context) {
    auto& x = context.problem.inputs[0];
    StridedCopy plan = plan_slice_change(context.problem);
    auto size = int64_t(size_of(x.dtype));
    Adding adding{
        x.dtype, x.bytes(), plan.numel() > 0, plan.source_offset() * size, plan.target_offset() * size, {}};
    for (size_t i = plan.axes().size(); i-- > 0;) {
        auto& axis = plan.axes()[i];
        adding.places.add(axis.extent, {axis.source, axis.target});
    }
    adding.places.close();
    return Prepared::make(adding);
}

void run_add(const Prepared& prepared, const Launch& launch) {
    auto& adding = prepared.state<Adding>();
    copy_whole(launch, adding.bytes);
    if (!adding.has_places) return;
    cuda::add_to_places(cuda::stream_of(launch), cuda::type_index(adding.dtype),
                        launch.in<char>(1) + adding.value_offset, launch.out<char>(0) + adding.offset,
                        adding.places);
}

}  // namespace

KernelList kernels(Cuda, Slice) { return cuda::copy_algorithms<plan_slice>(); }
KernelList kernels(Cuda, SetSlice) { return one_algorithm<prepare_set, run_set>("strided"); }
KernelList kernels(Cuda, AddSlice) { return one_algorithm<prepare_add, run_add>("strided"); }

}  // namespace mge::ops

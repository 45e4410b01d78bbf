// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/arithmetic.h"

namespace mge::ops {
namespace {

Support same_f32(const Problem& p) {
    return p.outputs[0].dtype == DType::f32 && p.inputs[0].shape == p.inputs[1].shape
               ? supported
               : Support{"only equal f32 shapes"};
}
Prepared prepare_count(const PrepareContext& context) {
    return Prepared::make(context.problem.outputs[0].numel());
}
void run_add(const Prepared& prepared, const Launch& launch) {
    int64_t n = prepared.state<int64_t>();
    for (int64_t i = 0; i < n; ++i) launch.out<float>(0)[i] = launch.in<float>(0)[i] + launch.in<float>(1)[i];
}

}  // namespace

KernelList kernels(Cpu, Add) {
    static constexpr Algorithm list[] = {{"reference", same_f32, prepare_count, run_add}};
    return list;
}

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/eye.h"

#include <algorithm>

#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

void run_diagonal(const Prepared& prepared, const Launch& launch) {
    auto& y = prepared.state<ProblemState<Eye::Params>>().outputs[0];
    int64_t rows = y.shape[0], columns = y.shape[1];
    dispatch_dtype(y.dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        std::fill_n(launch.out<T>(0), rows * columns, T{});
        for (int64_t i = 0; i < std::min(rows, columns); ++i) launch.out<T>(0)[i * columns + i] = T(1.f);
    });
}

}  // namespace

KernelList kernels(Cpu, Eye) { return one_algorithm<copy_problem<Eye::Params>, run_diagonal>("reference"); }

}  // namespace mge::ops

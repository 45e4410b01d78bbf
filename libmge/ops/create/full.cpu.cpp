// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/create/full.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/element_bytes.h"

namespace mge::ops {
namespace {

struct Fill {
    DType dtype;
    int64_t count;
    uint64_t pattern;  // the element's bytes, first ones first
};

template <class Params>
Prepared prepare_fill(const PrepareContext& context) {
    auto& y = context.problem.outputs[0];
    return Prepared::make(
        Fill{y.dtype, y.numel(), element_bytes(y.dtype, context.problem.as<Params>().value)});
}

void run_fill(const Prepared& prepared, const Launch& launch) {
    auto& fill = prepared.state<Fill>();
    dispatch_size(fill.dtype, [&]<class T>(std::type_identity<T>) {
        T element;
        std::memcpy(&element, &fill.pattern, sizeof element);
        constexpr int64_t elements_per_nanosecond = 8;
        par_for(launch.threads, fill.count, parallel_grain * elements_per_nanosecond,
                [&](int64_t begin, int64_t end) {
                    std::fill(launch.out<T>(0) + begin, launch.out<T>(0) + end, element);
                });
    });
}

}  // namespace

KernelList kernels(Cpu, Full) { return one_algorithm<prepare_fill<Full::Params>, run_fill>("fill"); }
KernelList kernels(Cpu, FullLike) { return one_algorithm<prepare_fill<FullLike::Params>, run_fill>("fill"); }

}  // namespace mge::ops

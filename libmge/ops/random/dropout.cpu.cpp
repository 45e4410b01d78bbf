// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/dropout.h"

#include "libmge/kernel/cpu/philox_blocks.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/random_state.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

struct Drop {
    int64_t count;
    DType dtype;
    uint64_t dropped;  // so many of the 2^32 words drop the element
    float scale;
};

Prepared prepare_drop(const PrepareContext& context) {
    double probability = context.problem.as<Dropout::Params>().probability;
    auto& x = context.problem.inputs[0];
    return Prepared::make(
        Drop{x.numel(), x.dtype, uint64_t(probability * 0x1p32), float(1 / (1 - probability))});
}

void run_drop(const Prepared& prepared, const Launch& launch) {
    auto& drop = prepared.state<Drop>();
    PhiloxBlocks blocks(launch.in<int32_t>(1), uint32_t(RandomStream::dropout));
    dispatch_dtype(drop.dtype, FloatTypes{}, [&]<class T>(std::type_identity<T>) {
        const T* x = launch.in<T>(0);
        T *y = launch.out<T>(0), *mask = launch.out<T>(1);
        blocks.for_pieces(launch.threads, drop.count, [=](int64_t first, int64_t n, const uint32_t* bits) {
            for (int64_t i = 0; i < n; ++i) {
                mask[first + i] = T(bits[i] < drop.dropped ? 0.f : drop.scale);
                y[first + i] = T(float(x[first + i]) * float(mask[first + i]));
            }
        });
    });
}

}  // namespace

KernelList kernels(Cpu, Dropout) { return one_algorithm<prepare_drop, run_drop>("philox"); }
}  // namespace mge::ops

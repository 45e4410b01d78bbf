// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/random/permutation.h"

#include <utility>

#include "libmge/kernel/cpu/philox_blocks.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/random/random_state.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// 64 random bits per draw: the product's upper half is below `bound` with a bias under 2^-32.
int64_t below(int64_t bound, const PhiloxBlocks& blocks, int64_t draw) {
    PhiloxWords words = blocks[draw];
    uint64_t bits = uint64_t(words.w0) << 32 | words.w1;
    return int64_t((__extension__(unsigned __int128)(bits) * uint64_t(bound)) >> 64);
}

void run_shuffle(const Prepared& prepared, const Launch& launch) {
    auto& p = prepared.state<ProblemState<Permutation::Params>>().params;
    PhiloxBlocks blocks(launch.in<int32_t>(0), uint32_t(RandomStream::permutation));
    dispatch_dtype(p.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        T* y = launch.out<T>(0);
        for (int64_t i = 0; i < p.n; ++i) {
            if constexpr (std::is_integral_v<T>)
                y[i] = T(i);
            else
                y[i] = T(float(i));
        }
        for (int64_t i = p.n - 1; i > 0; --i) std::swap(y[i], y[below(i + 1, blocks, i)]);
    });
}

}  // namespace

KernelList kernels(Cpu, Permutation) {
    return one_algorithm<copy_problem<Permutation::Params>, run_shuffle>("philox");
}

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/rows/channel_kernels.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/rows/channel_kernels.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Calls body(d, channel) for whole vectors of channels, then for the rest by four and one.
template <class Body>
HWY_INLINE void for_each_vector(int64_t channels, Body&& body) {
    const hn::ScalableTag<float> full;
    const hn::CappedTag<float, 4> quarter;
    const hn::CappedTag<float, 1> single;
    const auto lanes = int64_t(hn::Lanes(full)), few = int64_t(hn::Lanes(quarter));
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes) body(full, c);
    for (; c + few <= channels; c += few) body(quarter, c);
    for (; c < channels; ++c) body(single, c);
}

// The sums of one vector of channels stay in registers. Two rows at a time, so that additions do not wait for
// each other.
void gradient_sums(const float* x, const float* dy, int64_t rows, int64_t channels, const float* mean,
                   float* dy_sums, float* product_sums) {
    for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
        auto center = hn::LoadU(d, mean + c);
        auto sum0 = hn::LoadU(d, dy_sums + c), product0 = hn::LoadU(d, product_sums + c);
        auto sum1 = hn::Zero(d), product1 = sum1;
        int64_t row = 0;
        for (; row + 2 <= rows; row += 2) {
            const int64_t i = row * channels + c, j = i + channels;
            auto g0 = hn::LoadU(d, dy + i), g1 = hn::LoadU(d, dy + j);
            sum0 = hn::Add(sum0, g0);
            sum1 = hn::Add(sum1, g1);
            product0 = hn::MulAdd(g0, hn::Sub(hn::LoadU(d, x + i), center), product0);
            product1 = hn::MulAdd(g1, hn::Sub(hn::LoadU(d, x + j), center), product1);
        }
        if (row < rows) {
            const int64_t i = row * channels + c;
            auto g = hn::LoadU(d, dy + i);
            sum0 = hn::Add(sum0, g);
            product0 = hn::MulAdd(g, hn::Sub(hn::LoadU(d, x + i), center), product0);
        }
        hn::StoreU(hn::Add(sum0, sum1), d, dy_sums + c);
        hn::StoreU(hn::Add(product0, product1), d, product_sums + c);
    });
}

void weighted_sum(const float* x, const float* dy, float* dx, int64_t rows, int64_t channels,
                  const ChannelFactors& factors) {
    for_each_vector(channels, [&](auto d, int64_t c) HWY_ATTR {
        auto mean = hn::LoadU(d, factors.mean + c), slope = hn::LoadU(d, factors.slope + c);
        auto center = hn::LoadU(d, factors.center + c), factor = hn::LoadU(d, factors.factor + c);
        for (int64_t row = 0; row < rows; ++row) {
            const int64_t i = row * channels + c;
            auto of_x = hn::Mul(hn::Sub(hn::LoadU(d, x + i), mean), slope);
            hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, dy + i), center), factor, of_x), d, dx + i);
        }
    });
}

constexpr ChannelKernels kernels{gradient_sums, weighted_sum};

}  // namespace

const ChannelKernels* channel_kernels_of_target() { return &kernels; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {

HWY_EXPORT(channel_kernels_of_target);

const ChannelKernels& channel_kernels() {
    limit_highway_targets();
    return *HWY_DYNAMIC_DISPATCH(channel_kernels_of_target)();
}

}  // namespace mge::cpu
#endif

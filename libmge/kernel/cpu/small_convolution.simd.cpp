// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/small_convolution.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "libmge/kernel/cpu/highway_targets.h"
#include "libmge/kernel/cpu/small_convolution.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using F32 = hn::ScalableTag<float>;
// Two vectors for each of six channels are twelve sums: they and their operands fit sixteen registers.
constexpr int vectors_together = 2, channels_together = 6;
constexpr int64_t max_span = 2 * 16;

int64_t span() { return vectors_together * int64_t(hn::Lanes(F32())); }

// Stores what lies inside of y of `span` neighbouring sums that begin at `at`.
HWY_INLINE void store_valid(const SmallConvolution& s, const SmallConvolutionData& d, int64_t channel,
                            int64_t at, const float* sums) {
    const int64_t pitch = s.pitch(), end = std::min(at + span(), s.height * pitch);
    for (int64_t i = at; i < end;) {
        int64_t row = i / pitch, column = i % pitch, next = std::min(end, (row + 1) * pitch);
        int64_t n = std::min(next, row * pitch + s.width) - i;
        int64_t target = (channel * s.height + row) * s.width + column;
        if (n > 0 && !d.residual) std::memcpy(d.y + target, sums + (i - at), size_t(n) * sizeof(float));
        if (d.residual)
            for (int64_t j = 0; j < n; ++j) {
                float value = sums[i - at + j] + d.residual[target + j];
                d.y[target + j] = d.relu ? (value > 0 ? value : 0) : value;
            }
        i = next;
    }
}

template <int C>
HWY_INLINE void compute(const SmallConvolution& s, const SmallConvolutionData& d, int64_t channel,
                        int64_t at) {
    const F32 f;
    const int64_t lanes = int64_t(hn::Lanes(f)), filter = s.ic * s.kernel_height * s.kernel_width;
    hn::Vec<F32> sum0[C], sum1[C];
    for (int c = 0; c < C; ++c) sum0[c] = sum1[c] = hn::Set(f, d.bias ? d.bias[channel + c] : 0.f);
    const float* weight = d.weight + channel * filter;
    for (int64_t ic = 0; ic < s.ic; ++ic)
        for (int64_t kh = 0; kh < s.kernel_height; ++kh) {
            const float* x = d.padded + ic * s.plane() + kh * s.dilation_height * s.pitch() + at;
            for (int64_t kw = 0; kw < s.kernel_width; ++kw, ++weight, x += s.dilation_width) {
                auto x0 = hn::LoadU(f, x), x1 = hn::LoadU(f, x + lanes);
                for (int c = 0; c < C; ++c) {
                    auto w = hn::Set(f, weight[c * filter]);
                    sum0[c] = hn::MulAdd(w, x0, sum0[c]);
                    sum1[c] = hn::MulAdd(w, x1, sum1[c]);
                }
            }
        }
    HWY_ALIGN float sums[max_span];
    for (int c = 0; c < C; ++c) {
        if (d.relu && !d.residual) {
            sum0[c] = hn::IfThenElseZero(hn::Gt(sum0[c], hn::Zero(f)), sum0[c]);  // 0 for NaN
            sum1[c] = hn::IfThenElseZero(hn::Gt(sum1[c], hn::Zero(f)), sum1[c]);
        }
        hn::StoreU(sum0[c], f, sums);
        hn::StoreU(sum1[c], f, sums + lanes);
        store_valid(s, d, channel + c, at, sums);
    }
}

int64_t spans(const SmallConvolution& s) { return (s.height * s.pitch() + span() - 1) / span(); }

int64_t count_items(const SmallConvolution& s) {
    return (s.oc + channels_together - 1) / channels_together * spans(s);
}

void compute_items(const SmallConvolution& s, const SmallConvolutionData& d, int64_t first, int64_t last) {
    for (int64_t item = first; item < last; ++item) {
        int64_t channel = item / spans(s) * channels_together, at = item % spans(s) * span();
        switch (std::min<int64_t>(s.oc - channel, channels_together)) {
            case 6:
                compute<6>(s, d, channel, at);
                break;
            case 5:
                compute<5>(s, d, channel, at);
                break;
            case 4:
                compute<4>(s, d, channel, at);
                break;
            case 3:
                compute<3>(s, d, channel, at);
                break;
            case 2:
                compute<2>(s, d, channel, at);
                break;
            default:
                compute<1>(s, d, channel, at);
        }
    }
}

}  // namespace

SmallConvolutionFunctions convolution_functions() { return {count_items, compute_items}; }

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(convolution_functions);
const SmallConvolutionFunctions& functions() {
    static const SmallConvolutionFunctions best = [] {
        limit_highway_targets();
        return HWY_DYNAMIC_DISPATCH(convolution_functions)();
    }();
    return best;
}

}  // namespace

// The last vectors reach over the end of the last plane by less than one span.
int64_t SmallConvolution::workspace_floats() const {
    constexpr int64_t slack = 64;
    return ic * plane() + dilation_width * kernel_width + slack;
}
int64_t SmallConvolution::items() const { return functions().count_items(*this); }

void pad_image(const SmallConvolution& s, const float* x, float* padded) {
    std::memset(padded, 0, size_t(s.workspace_floats()) * sizeof(float));
    for (int64_t c = 0; c < s.ic; ++c)
        for (int64_t h = 0; h < s.in_height; ++h)
            std::memcpy(padded + c * s.plane() + (h + s.pad_height) * s.pitch() + s.pad_width,
                        x + (c * s.in_height + h) * s.in_width, size_t(s.in_width) * sizeof(float));
}

void small_convolution(const SmallConvolution& shape, const SmallConvolutionData& data, int64_t first,
                       int64_t last) {
    functions().compute_items(shape, data, first, last);
}

}  // namespace mge::cpu
#endif

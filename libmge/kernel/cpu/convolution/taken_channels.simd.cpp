// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "libmge/kernel/cpu/convolution/taken_channels.simd.cpp"
#include "hwy/foreach_target.h"  // compiles this file once per instruction set
//
#include <algorithm>
#include <utility>

#include "hwy/highway.h"
#include "libmge/base/numbers/ceil_div.h"
#include "libmge/kernel/cpu/convolution/taken_channels.h"
#include "libmge/kernel/cpu/highway_targets.h"

HWY_BEFORE_NAMESPACE();
namespace mge::cpu::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

// Not longer than the smallest blocks.
using TakenTag = hn::CappedTag<float, TakenLanes::most>;
using TakenIndexTag = hn::RebindToSigned<TakenTag>;

template <int Sources>
void put_together(const TakenPixels& t) {
    const TakenTag f;
    const TakenIndexTag i32;
    const auto zero = hn::Zero(i32);
    decltype(hn::IndicesFromVec(f, zero)) from[Sources];
    hn::Mask<TakenTag> has[Sources];
    const float* x[Sources];
    for (size_t s = 0; s < Sources; ++s) {
        const auto lanes = hn::LoadU(i32, t.lanes[s].from.data());
        from[s] = hn::IndicesFromVec(f, hn::Max(lanes, zero));
        has[s] = hn::RebindMask(f, hn::Gt(lanes, hn::Set(i32, -1)));
        x[s] = t.x[s];
    }
    float* y = t.y;
    const int64_t step = t.step;
    for (int64_t rest = t.count; rest > 0; --rest, y += step) {
        auto vector = hn::IfThenElseZero(has[0], hn::TableLookupLanes(hn::LoadU(f, x[0]), from[0]));
        x[0] += step;
#pragma GCC unroll 8
        for (size_t s = 1; s < Sources; ++s) {
            vector = hn::IfThenElse(has[s], hn::TableLookupLanes(hn::LoadU(f, x[s]), from[s]), vector);
            x[s] += step;
        }
        hn::StoreU(vector, f, y);
    }
}

// Padding.
void put_zeros(const TakenPixels& t) {
    const TakenTag f;
    for (int64_t i = 0; i < t.count; ++i) hn::StoreU(hn::Zero(f), f, t.y + i * t.step);
}

using PutTogether = void (*)(const TakenPixels&);
template <int... S>
constexpr std::array<PutTogether, sizeof...(S) + 1> by_sources(std::integer_sequence<int, S...>) {
    return {put_zeros, put_together<S + 1>...};
}

void put_any_together(const TakenPixels& t) {
    static constexpr auto list = by_sources(std::make_integer_sequence<int, int(TakenLanes::most)>());
    list[t.lanes.size()](t);
}

}  // namespace

TakenChannelsFunctions taken_channels_functions() {
    return {int64_t(hn::Lanes(TakenTag())), put_any_together};
}

}  // namespace mge::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace mge::cpu {
namespace {

HWY_EXPORT(taken_channels_functions);
const TakenChannelsFunctions& functions() {
    static const auto best = (limit_highway_targets(), HWY_DYNAMIC_DISPATCH(taken_channels_functions)());
    return best;
}

}  // namespace

TakenChannels::TakenChannels(std::span<const TakenChannel> channels, std::vector<int64_t> blocks,
                             int64_t block, int64_t items, int64_t pixels)
    : blocks_(std::move(blocks)), block_(block), vector_(functions().vector), items_(items), pixels_(pixels) {
    const int64_t count = int64_t(channels.size()), stored = round_up(count, block);
    for (int64_t first = 0; first < stored; first += vector_) {
        for (int64_t i = first; i < std::min(first + vector_, count); ++i) {
            auto& [image, channel] = channels[size_t(i)];
            const int64_t vector = channel / vector_;
            auto begin = lanes_.begin() + std::ptrdiff_t(first_.back());
            auto same = std::find_if(begin, lanes_.end(), [image = image, vector](const TakenLanes& lanes) {
                return lanes.image == image && lanes.vector == vector;
            });
            if (same == lanes_.end()) {
                same = lanes_.insert(same, {image, vector});
                same->from.fill(-1);
            }
            same->from[size_t(i - first)] = int32_t(channel % vector_);
        }
        first_.push_back(lanes_.size());
    }
}

int64_t TakenChannels::pixels() const { return items_ * pixels_; }
int64_t TakenChannels::bytes_of_pixel() const { return vectors() * vector_ * int64_t(sizeof(float)); }

void TakenChannels::run(std::span<const void* const> images, float* y, int64_t first, int64_t last) const {
    // The start of a vector's channels in an item of so many blocks.
    auto place = [&](int64_t item, int64_t blocks, int64_t vector, int64_t pixel) {
        const int64_t channel = vector * vector_;
        return ((item * blocks + channel / block_) * pixels_ + pixel) * block_ + channel % block_;
    };
    const int64_t y_blocks = vectors() * vector_ / block_;
    while (first < last) {
        const int64_t item = first / pixels_, pixel = first % pixels_;
        const int64_t count = std::min(pixels_ - pixel, last - first);
        for (int64_t vector = 0; vector < vectors(); ++vector) {
            const size_t begin = first_[size_t(vector)], end = first_[size_t(vector) + 1];
            TakenPixels taken{std::span(lanes_).subspan(begin, end - begin),
                              {},
                              y + place(item, y_blocks, vector, pixel),
                              count,
                              block_};
            for (size_t i = 0; i < taken.lanes.size(); ++i) {
                auto& lanes = taken.lanes[i];
                taken.x[i] = static_cast<const float*>(images[lanes.image]) +
                             place(item, blocks_[lanes.image], lanes.vector, pixel);
            }
            functions().put_together(taken);
        }
        first += count;
    }
}

}  // namespace mge::cpu
#endif

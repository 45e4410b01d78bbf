// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/cpu/onednn/copy_blocked.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

// In a blocked layout each index of an axis adds its own amount to an element's position, independent of the
// other indices: place(i, j, …) = places[0][i] + places[1][j] + …. So all positions are sums of two tables,
// one over the outer axes and one over the inner ones.

namespace mge::onednn {
namespace {

constexpr size_t worth_a_loop = 64;

struct Place {
    int32_t from, to;
};

int32_t place_along(const Blocking& layout, int axis, int64_t index) {
    int64_t place = 0, stride = 1;
    for (int i = layout.blocks; i-- > 0;) {
        auto block = layout.block_sizes[i];
        if (layout.block_axes[i] == axis) {
            place += index % block * stride;
            index /= block;
        }
        stride *= block;
    }
    return int32_t(place + index * layout.strides[axis]);
}

// The places of all combinations of `axes`, the last one changing fastest.
std::vector<Place> places_of(std::span<const int64_t> dims, const Blocking& from, const Blocking& to,
                             std::span<const int> axes) {
    std::vector<Place> places{{0, 0}};
    for (int axis : axes) {
        std::vector<Place> along, longer;
        for (int64_t i = 0; i < dims[axis]; ++i)
            along.push_back({place_along(from, axis, i), place_along(to, axis, i)});
        longer.reserve(places.size() * along.size());
        for (auto& place : places)
            for (auto& more : along) longer.push_back({place.from + more.from, place.to + more.to});
        places = std::move(longer);
    }
    return places;
}

}  // namespace

bool copy_blocked(const MemoryDesc& from, const void* source, const MemoryDesc& to, void* target) {
    const auto type = from.type();
    const bool is_moved = type == to.type() && (type == dnnl_f32 || type == dnnl_s32 || type == dnnl_bf16);
    auto in = from.blocking(), out = to.blocking();
    if (!is_moved || !in || !out) return false;
    const size_t size = to.bytes();
    if (in->offset || out->offset || std::max(from.bytes(), size) > INT32_MAX) return false;
    if (size == 0) return true;
    const auto dims = from.dims();
    if (!std::ranges::equal(dims, std::span(out->padded_dims).first(dims.size())))
        std::memset(target, 0, size);

    // In the order of the source, which is read sequentially.
    std::array<int, DNNL_MAX_NDIMS> order{};
    std::span axes(order.data(), dims.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::ranges::stable_sort(axes, [&](int a, int b) { return in->strides[a] > in->strides[b]; });
    size_t outer = axes.size(), inner_count = 1;
    while (outer > 0 && inner_count < worth_a_loop) inner_count *= size_t(dims[axes[--outer]]);

    auto inner = places_of(dims, *in, *out, axes.subspan(outer));
    auto move = [&]<class T>(const T* values, T* copy) {
        for (auto& first : places_of(dims, *in, *out, axes.first(outer)))
            for (auto& place : inner) copy[first.to + place.to] = values[first.from + place.from];
    };
    if (type == dnnl_bf16)
        move(static_cast<const uint16_t*>(source), static_cast<uint16_t*>(target));
    else
        move(static_cast<const uint32_t*>(source), static_cast<uint32_t*>(target));
    return true;
}

}  // namespace mge::onednn

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

bool is_blocked(const MemoryDesc& desc) {
    auto is_zero = [](int64_t offset) { return offset == 0; };
    return desc.format_kind == dnnl_blocked && desc.extra.flags == dnnl_memory_extra_flag_none &&
           std::all_of(desc.padded_offsets, desc.padded_offsets + desc.ndims, is_zero);
}

int32_t place_along(const MemoryDesc& desc, int axis, int64_t index) {
    auto& blocking = desc.format_desc.blocking;
    int64_t place = 0, stride = 1;
    for (int i = blocking.inner_nblks; i-- > 0;) {
        auto block = blocking.inner_blks[i];
        if (blocking.inner_idxs[i] == axis) {
            place += index % block * stride;
            index /= block;
        }
        stride *= block;
    }
    return int32_t(place + index * blocking.strides[axis]);
}

// The places of all combinations of `axes`, the last one changing fastest.
std::vector<Place> places_of(const MemoryDesc& from, const MemoryDesc& to, std::span<const int> axes) {
    std::vector<Place> places{{0, 0}};
    for (int axis : axes) {
        std::vector<Place> along, longer;
        for (int64_t i = 0; i < from.dims[axis]; ++i)
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
    const auto type = from.data_type;
    const bool is_moved = type == to.data_type && (type == dnnl_f32 || type == dnnl_s32 || type == dnnl_bf16);
    if (!is_moved || !is_blocked(from) || !is_blocked(to)) return false;
    const size_t size = bytes(to);
    if (std::max(bytes(from), size) > INT32_MAX) return false;
    if (size == 0) return true;
    if (!std::equal(to.dims, to.dims + to.ndims, to.padded_dims)) std::memset(target, 0, size);

    // In the order of the source, which is read sequentially.
    std::array<int, DNNL_MAX_NDIMS> order{};
    std::span axes(order.data(), size_t(from.ndims));
    std::iota(axes.begin(), axes.end(), 0);
    auto& strides = from.format_desc.blocking.strides;
    std::ranges::stable_sort(axes, [&](int a, int b) { return strides[a] > strides[b]; });
    size_t outer = axes.size(), inner_count = 1;
    while (outer > 0 && inner_count < worth_a_loop) inner_count *= size_t(from.dims[axes[--outer]]);

    auto inner = places_of(from, to, axes.subspan(outer));
    auto move = [&]<class T>(const T* values, T* copy) {
        for (auto& first : places_of(from, to, axes.first(outer)))
            for (auto& place : inner)
                copy[to.offset0 + first.to + place.to] = values[from.offset0 + first.from + place.from];
    };
    if (type == dnnl_bf16)
        move(static_cast<const uint16_t*>(source), static_cast<uint16_t*>(target));
    else
        move(static_cast<const uint32_t*>(source), static_cast<uint32_t*>(target));
    return true;
}

}  // namespace mge::onednn

// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/place_order.cuda.h"

#include <bit>

namespace mge::ops {
namespace {

constexpr int64_t most_ranked = 8192;  // the work of ranking goes with the square

size_t align(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace

PlaceOrder PlaceOrder::of(Method method, int64_t count, int64_t places) {
    return {method, count, int(std::bit_width(uint64_t(places) + 1))};
}

Support PlaceOrder::supports(Method method, int64_t count) {
    if (method == Method::rank && count > most_ranked) return {"up to 8192 indices"};
    if (count > cuda::most_keys) return {"up to 2^31 indices"};
    return supported;
}

size_t PlaceOrder::workspace() const {
    size_t counts = method == Method::radix ? size_t(cuda::radix_counts(1, count)) * sizeof(uint32_t) : 0;
    return 2 * align(size_t(count) * sizeof(uint64_t)) + 2 * align(size_t(count) * sizeof(uint32_t)) + counts;
}

cuda::KeysToSort<uint64_t> PlaceOrder::keys_in(void* workspace) const {
    char* at = static_cast<char*>(workspace);
    auto take = [&](size_t bytes) { return std::exchange(at, at + align(bytes)); };
    auto keys = [&] { return reinterpret_cast<uint64_t*>(take(size_t(count) * sizeof(uint64_t))); };
    auto numbers = [&] { return reinterpret_cast<uint32_t*>(take(size_t(count) * sizeof(uint32_t))); };
    cuda::KeysToSort<uint64_t> x{.rows = 1, .length = count, .bits = bits};
    x.keys = keys();
    x.other_keys = keys();
    x.numbers = numbers();
    x.other_numbers = numbers();
    x.counts = reinterpret_cast<uint32_t*>(at);
    return x;
}

cuda::OrderedPlaces PlaceOrder::sort(cuda::Stream stream, const cuda::KeysToSort<uint64_t>& keys) const {
    auto sorted =
        method == Method::rank ? cuda::sort_by_rank(stream, keys) : cuda::sort_by_radix(stream, keys);
    return {sorted.keys, sorted.numbers};
}

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/where.cuda.h"

#include "libmge/kernel/cuda/index_space.cuh"
#include "libmge/kernel/cuda/launch.cuh"

namespace mge::cuda {
namespace {

template <class T>
__global__ void where_along(const uint8_t* mask, const T* yes, const T* no, T* y, int64_t n, int mask_step,
                            int yes_step, int no_step) {
    constexpr int size = pack_size<T>;
    using Elements = Pack<T, size>;
    using Masks = Pack<uint8_t, size>;
    uint8_t one_mask = *mask;
    T one_yes = *yes, one_no = *no;
    int64_t packs = n / size;
    for (int64_t i = first_piece(); i < packs; i += piece_step()) {
        Masks masks{};
        Elements a{}, b{}, result;
        if (mask_step) masks = reinterpret_cast<const Masks*>(mask)[i];
        if (yes_step) a = reinterpret_cast<const Elements*>(yes)[i];
        if (no_step) b = reinterpret_cast<const Elements*>(no)[i];
#pragma unroll
        for (int k = 0; k < size; ++k)
            result.v[k] = (mask_step ? masks.v[k] : one_mask) ? (yes_step ? a.v[k] : one_yes)
                                                              : (no_step ? b.v[k] : one_no);
        reinterpret_cast<Elements*>(y)[i] = result;
    }
    for (int64_t i = packs * size + first_piece(); i < n; i += piece_step())
        y[i] = mask[i * mask_step] ? (yes_step ? yes[i] : one_yes) : (no_step ? no[i] : one_no);
}

template <class T, class Index>
__global__ void where_loops(const uint8_t* mask, const T* yes, const T* no, T* y, IndexSpace<3> space) {
    for (int64_t i = first_piece(); i < space.numel; i += piece_step()) {
        Index at[3];
        find_places(space, Index(i), at);
        y[i] = mask[at[0]] ? yes[at[1]] : no[at[2]];
    }
}

template <class T>
void where_as(Stream stream, const WhereArguments& x) {
    auto *yes = static_cast<const T*>(x.yes), *no = static_cast<const T*>(x.no);
    auto* y = static_cast<T*>(x.y);
    int64_t n = x.space.numel;
    if (x.runs_along && is_aligned(x.mask) && is_aligned(yes) && is_aligned(no) && is_aligned(y))
        return launch(where_along<T>, grid_for((n + pack_size<T> - 1) / pack_size<T>), block_threads, 0,
                      stream, x.mask, yes, no, y, n, x.step[0], x.step[1], x.step[2]);
    auto* kernel = x.space.is_small ? where_loops<T, int32_t> : where_loops<T, int64_t>;
    launch(kernel, grid_for(n), block_threads, 0, stream, x.mask, yes, no, y, x.space);
}

}  // namespace

void where(Stream stream, int size, const WhereArguments& arguments) {
    if (size == 1) return where_as<uint8_t>(stream, arguments);
    if (size == 2) return where_as<uint16_t>(stream, arguments);
    if (size == 4) return where_as<uint32_t>(stream, arguments);
    where_as<uint64_t>(stream, arguments);
}

}  // namespace mge::cuda

// SPDX-License-Identifier: Apache-2.0
// The gradient gathers: each element of the inner tensor finds its copies, which on each axis are a run, or a
// few mirrored places. Sums go in the order of dy, as the CPU's do.
#include "libmge/ops/shape/pad.cuda.h"

#include "libmge/kernel/cuda/index_space.cuh"
#include "libmge/kernel/cuda/launch.cuh"
#include "libmge/kernel/cuda/scalar.cuh"

namespace mge::cuda {
namespace {

constexpr int64_t outside = -1;

MGE_DEVICE int64_t source_of(int64_t i, int64_t extent, Margin margin) {
    if (i >= 0 && i < extent) return i;
    if (margin == Margin::constant) return outside;
    if (margin == Margin::replicate) return i < 0 ? 0 : extent - 1;
    return i < 0 ? -i : 2 * (extent - 1) - i;
}

template <class T, class Index>
__global__ void store_padded(const T* x, T* y, PadArguments pad) {
    auto constant = T(pad.element);
    for (int64_t i = first_piece(); i < pad.space.numel; i += piece_step()) {
        auto number = Index(i);
        int64_t place = 0;
        bool is_inside = true;
#pragma unroll
        for (int axis = 0; axis < max_axes; ++axis) {
            if (axis >= pad.space.axes) break;
            Index at = axis + 1 < pad.space.axes ? split_number(number, pad.space, axis) : number;
            int64_t source = source_of(at - pad.before[axis], pad.inner[axis], pad.margin);
            is_inside = is_inside && source != outside;
            place += source * pad.space.stride[0][axis];
        }
        y[i] = is_inside ? x[place] : constant;
    }
}

// The places of the padded axis that show element `at` of the inner one, in their order.
struct Copies {
    int64_t first, count, mirrored, mirrored_after;
    MGE_DEVICE int64_t place(int64_t k) const {
        if (mirrored >= 0 && k-- == 0) return mirrored;
        return k < count ? first + k : mirrored_after;
    }
    MGE_DEVICE int64_t total() const { return count + (mirrored >= 0) + (mirrored_after >= 0); }
};
MGE_DEVICE Copies copies_of(int64_t at, int64_t before, int64_t inner, int64_t padded, Margin margin) {
    Copies copies{before + at, 1, -1, -1};
    if (margin == Margin::replicate) {
        if (at == inner - 1) copies.count = padded - copies.first;
        if (at == 0) {
            copies.count += before;
            copies.first = 0;
        }
    } else if (margin == Margin::reflect) {
        int64_t behind = before + 2 * (inner - 1) - at;
        if (at > 0 && at <= before) copies.mirrored = before - at;
        if (at < inner - 1 && behind < padded) copies.mirrored_after = behind;
    }
    return copies;
}

template <class T, class Index>
__global__ void store_sums(const T* dy, T* dx, PadArguments pad) {
    using Sum = Computed<T>;
    for (int64_t i = first_piece(); i < pad.space.numel; i += piece_step()) {
        auto number = Index(i);
        Copies copies[max_axes] = {};
        int64_t total = 1;
#pragma unroll
        for (int axis = 0; axis < max_axes; ++axis) {
            if (axis >= pad.space.axes) break;
            Index at = axis + 1 < pad.space.axes ? split_number(number, pad.space, axis) : number;
            copies[axis] = copies_of(at, pad.before[axis], pad.inner[axis], pad.padded[axis], pad.margin);
            total *= copies[axis].total();
        }
        Sum sum = 0;
        for (int64_t copy = 0; copy < total; ++copy) {
            int64_t rest = copy, place = 0;
#pragma unroll
            for (int axis = 0; axis < max_axes; ++axis) {
                if (axis >= pad.space.axes) break;
                int64_t k = split_index(rest, copies[axis].total());
                place += copies[axis].place(k) * pad.padded_stride[axis];
            }
            sum = Sum(sum + widen(dy[place]));
        }
        dx[i] = narrow<T>(sum);
    }
}

template <class T>
void pad_as(Stream stream, const void* x, void* y, const PadArguments& arguments) {
    auto* kernel = arguments.space.is_small ? store_padded<T, int32_t> : store_padded<T, int64_t>;
    launch(kernel, grid_for(arguments.space.numel), block_threads, 0, stream, static_cast<const T*>(x),
           static_cast<T*>(y), arguments);
}

}  // namespace

void pad(Stream stream, int size, const void* x, void* y, const PadArguments& arguments) {
    if (size == 1) return pad_as<uint8_t>(stream, x, y, arguments);
    if (size == 2) return pad_as<uint16_t>(stream, x, y, arguments);
    if (size == 4) return pad_as<uint32_t>(stream, x, y, arguments);
    pad_as<uint64_t>(stream, x, y, arguments);
}

void pad_backward(Stream stream, int type, const void* dy, void* dx, const PadArguments& arguments) {
    dispatch_type(type, NumberTypes{}, [&]<class T>(T*) {
        auto* kernel = arguments.space.is_small ? store_sums<T, int32_t> : store_sums<T, int64_t>;
        launch(kernel, grid_for(arguments.space.numel), block_threads, 0, stream, static_cast<const T*>(dy),
               static_cast<T*>(dx), arguments);
    });
}

}  // namespace mge::cuda

// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/pad.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/kernel/strided_copy.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/element_bytes.h"

namespace mge::ops {
namespace {

constexpr int64_t outside = -1;

// The place of x that is shown at a place of the padded tensor, counted from the first one of x, in one axis.
int64_t source_of(int64_t i, int64_t extent, PadMode mode) {
    if (i >= 0 && i < extent) return i;
    if (mode == PadMode::constant) return outside;
    if (mode == PadMode::replicate) return i < 0 ? 0 : extent - 1;
    return i < 0 ? -i : 2 * (extent - 1) - i;
}

// The position of x in the padded tensor. It is computed without a table: an axis may be longer than any
// memory.
struct Frame {
    Shape inner, padded;
    std::array<int64_t, max_rank> before;  // by axis
    PadMode mode;
    DType dtype;
    uint64_t pattern;  // the constant's bytes

    int64_t source(int axis, int64_t place) const {
        return source_of(place - before[size_t(axis)], inner[axis], mode);
    }
    int64_t source_in_row(int64_t place) const {
        return padded.rank() ? source(padded.rank() - 1, place) : place;
    }
};

Frame frame_of(const Problem& problem, const TensorSpec& inner, const Shape& padded) {
    auto& p = problem.as<Pad::Params>();
    Frame frame{inner.shape, padded, {}, p.mode, inner.dtype, element_bytes(inner.dtype, p.value)};
    std::ranges::copy(p.before, frame.before.begin());
    return frame;
}

Prepared prepare_pad(const PrepareContext& context) {
    auto& problem = context.problem;
    return Prepared::make(frame_of(problem, problem.inputs[0], problem.outputs[0].shape));
}
Prepared prepare_backward(const PrepareContext& context) {
    auto& problem = context.problem;
    return Prepared::make(frame_of(problem, problem.outputs[0], problem.inputs[0].shape));
}

// Calls fn(row, offset of its source row or `outside`) for the innermost rows of the padded tensor.
template <class Fn>
void for_rows(const Frame& frame, int64_t begin, int64_t end, Fn&& fn) {
    Strides strides = dense_strides(frame.inner);
    int rank = frame.padded.rank();
    for (int64_t row = begin; row < end; ++row) {
        int64_t rest = row, offset = 0;
        for (int i = rank - 2; i >= 0 && offset != outside; --i) {
            int64_t source = frame.source(i, rest % frame.padded[i]);
            rest /= frame.padded[i];
            offset = source == outside ? outside : offset + source * strides[size_t(i)];
        }
        fn(row, offset);
    }
}

struct Rows {
    int64_t count, length;
};
Rows rows_of(const Frame& frame) {
    int rank = frame.padded.rank();
    int64_t length = rank ? frame.padded[rank - 1] : 1;
    return {length ? frame.padded.numel() / length : 0, length};
}

template <class T>
void pad_row(const Frame& frame, int64_t length, const T* x, T* y, T value) {
    int rank = frame.padded.rank();
    int64_t before = rank ? frame.before[size_t(rank - 1)] : 0, inner = rank ? frame.inner[rank - 1] : 1;
    auto fill = [&, mode = frame.mode](int64_t begin, int64_t end) {
        if (mode == PadMode::constant) return std::fill(y + begin, y + end, value);
        for (int64_t i = begin; i < end; ++i) y[i] = x[source_of(i - before, inner, mode)];
    };
    fill(0, before);
    std::copy_n(x, inner, y + before);
    fill(before + inner, length);
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& frame = prepared.state<Frame>();
    Rows all = rows_of(frame);
    int64_t rows = all.count, length = all.length;
    dispatch_size(frame.dtype, [&]<class T>(std::type_identity<T>) {
        T value;
        std::memcpy(&value, &frame.pattern, sizeof value);
        par_for(launch.threads, rows, std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, length)),
                [&](int64_t begin, int64_t end) {
                    for_rows(frame, begin, end, [&](int64_t row, int64_t offset) {
                        T* y = launch.out<T>(0) + row * length;
                        if (offset == outside)
                            std::fill(y, y + length, value);
                        else
                            pad_row(frame, length, launch.in<T>(0) + offset, y, value);
                    });
                });
    });
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& frame = prepared.state<Frame>();
    Rows all = rows_of(frame);
    int64_t rows = all.count, length = all.length;
    dispatch_size(frame.dtype, [&]<class T>(std::type_identity<T>) {
        T value;
        std::memcpy(&value, &frame.pattern, sizeof value);
        for_rows(frame, 0, rows, [&](int64_t row, int64_t offset) {
            for (int64_t i = 0; i < length; ++i) {
                int64_t source = frame.source_in_row(i);
                launch.out<T>(0)[row * length + i] =
                    offset == outside || source == outside ? value : launch.in<T>(0)[offset + source];
            }
        });
    });
}

// Sums in f32 (or the integer type) in the order of dy, whatever the number of threads.
void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& frame = prepared.state<Frame>();
    Rows all = rows_of(frame);
    int64_t rows = all.count, length = all.length;
    dispatch_dtype(frame.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        using Sum = ComputedAs<T>;
        std::vector<Sum> sums(size_t(frame.inner.numel()));
        for_rows(frame, 0, rows, [&](int64_t row, int64_t offset) {
            if (offset == outside) return;
            for (int64_t i = 0; i < length; ++i) {
                int64_t source = frame.source_in_row(i);
                if (source != outside)
                    sums[size_t(offset + source)] += Sum(launch.in<T>(0)[row * length + i]);
            }
        });
        for (size_t i = 0; i < sums.size(); ++i) launch.out<T>(0)[i] = T(sums[i]);
    });
}

}  // namespace

KernelList kernels(Cpu, Pad) {
    static constexpr Algorithm list[] = {
        {"rows", plain_layouts, prepare_pad, run_rows},
        {"reference", plain_layouts, prepare_pad, run_reference, {.naive = true}}};
    return list;
}

KernelList kernels(Cpu, PadBackward) { return one_algorithm<prepare_backward, run_backward>("reference"); }

}  // namespace mge::ops

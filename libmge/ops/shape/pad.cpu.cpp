// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/pad.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/kernel/strided_copy.h"
#include "libmge/tensor/dtype_dispatch.h"
#include "libmge/tensor/element_bytes.h"

namespace mge::ops {
namespace {

constexpr int64_t outside = -1;

// For each axis and each place of the padded tensor: the place of x it shows.
struct Maps {
    Shape inner, padded;
    std::vector<std::vector<int64_t>> sources;
    DType dtype;
    uint64_t pattern;  // the constant's bytes
};

int64_t source_of(int64_t i, int64_t extent, PadMode mode) {
    if (i >= 0 && i < extent) return i;
    if (mode == PadMode::constant) return outside;
    if (mode == PadMode::replicate) return i < 0 ? 0 : extent - 1;
    return i < 0 ? -i : 2 * (extent - 1) - i;
}

Maps make_maps(const Problem& problem, const TensorSpec& inner, const Shape& padded) {
    auto& p = problem.as<Pad::Params>();
    Maps maps{inner.shape, padded, {}, inner.dtype, element_bytes(inner.dtype, p.value)};
    // Where nothing is moved, an axis may still be longer than any memory.
    bool is_empty = padded.numel() == 0;
    for (int axis = 0; axis < padded.rank(); ++axis) {
        maps.sources.emplace_back();
        for (int64_t i = 0; i < padded[axis] && !is_empty; ++i)
            maps.sources.back().push_back(source_of(i - p.before[size_t(axis)], inner.shape[axis], p.mode));
    }
    return maps;
}

Prepared prepare_pad(const PrepareContext& context) {
    auto& problem = context.problem;
    return Prepared::make(make_maps(problem, problem.inputs[0], problem.outputs[0].shape));
}
Prepared prepare_backward(const PrepareContext& context) {
    auto& problem = context.problem;
    return Prepared::make(make_maps(problem, problem.outputs[0], problem.inputs[0].shape));
}

// Calls fn(row, offset of its source row or `outside`) for the innermost rows of the padded tensor.
template <class Fn>
void for_rows(const Maps& maps, int64_t begin, int64_t end, Fn&& fn) {
    Strides strides = dense_strides(maps.inner);
    int rank = maps.padded.rank();
    for (int64_t row = begin; row < end; ++row) {
        int64_t rest = row, offset = 0;
        for (int i = rank - 2; i >= 0 && offset != outside; --i) {
            int64_t source = maps.sources[size_t(i)][size_t(rest % maps.padded[i])];
            rest /= maps.padded[i];
            offset = source == outside ? outside : offset + source * strides[size_t(i)];
        }
        fn(row, offset);
    }
}

struct Rows {
    int64_t count, length;
};
Rows rows_of(const Maps& maps) {
    int rank = maps.padded.rank();
    int64_t length = rank ? maps.padded[rank - 1] : 1;
    return {length ? maps.padded.numel() / length : 0, length};
}

template <class T>
void pad_row(const std::vector<int64_t>& sources, int64_t inner, const T* x, T* y, T value) {
    auto n = int64_t(sources.size()), i = int64_t(0);
    for (; i < n && sources[size_t(i)] != 0; ++i)
        y[i] = sources[size_t(i)] == outside ? value : x[sources[size_t(i)]];
    // Several places may show element 0 (replicate); the inside starts at the last of them.
    while (i + 1 < n && sources[size_t(i + 1)] == 0) y[i++] = x[0];
    if (i < n) {
        std::memcpy(y + i, x, size_t(inner) * sizeof(T));
        i += inner;
    }
    for (; i < n; ++i) y[i] = sources[size_t(i)] == outside ? value : x[sources[size_t(i)]];
}

void run_rows(const Prepared& prepared, const Launch& launch) {
    auto& maps = prepared.state<Maps>();
    Rows all = rows_of(maps);
    int64_t rows = all.count, length = all.length;
    static const std::vector<int64_t> scalar{0};
    int rank = maps.padded.rank();
    auto& sources = rank ? maps.sources.back() : scalar;
    int64_t inner = rank ? maps.inner[rank - 1] : 1;
    dispatch_size(maps.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        T value;
        std::memcpy(&value, &maps.pattern, sizeof value);
        par_for(launch.threads, rows, std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, length)),
                [&](int64_t begin, int64_t end) {
                    for_rows(maps, begin, end, [&](int64_t row, int64_t offset) {
                        T* y = launch.out<T>(0) + row * length;
                        if (offset == outside)
                            std::fill(y, y + length, value);
                        else
                            pad_row(sources, inner, launch.in<T>(0) + offset, y, value);
                    });
                });
    });
}

void run_reference(const Prepared& prepared, const Launch& launch) {
    auto& maps = prepared.state<Maps>();
    Rows all = rows_of(maps);
    int64_t rows = all.count, length = all.length;
    dispatch_size(maps.dtype, [&](auto type) {
        using T = typename decltype(type)::type;
        T value;
        std::memcpy(&value, &maps.pattern, sizeof value);
        for_rows(maps, 0, rows, [&](int64_t row, int64_t offset) {
            for (int64_t i = 0; i < length; ++i) {
                int64_t source = maps.padded.rank() ? maps.sources.back()[size_t(i)] : 0;
                launch.out<T>(0)[row * length + i] =
                    offset == outside || source == outside ? value : launch.in<T>(0)[offset + source];
            }
        });
    });
}

// Sums in f32 (or the integer type) in the order of dy, whatever the number of threads.
void run_backward(const Prepared& prepared, const Launch& launch) {
    auto& maps = prepared.state<Maps>();
    Rows all = rows_of(maps);
    int64_t rows = all.count, length = all.length;
    dispatch_dtype(maps.dtype, NumberTypes{}, [&](auto type) {
        using T = typename decltype(type)::type;
        using Sum = ComputedAs<T>;
        std::vector<Sum> sums(size_t(maps.inner.numel()));
        for_rows(maps, 0, rows, [&](int64_t row, int64_t offset) {
            if (offset == outside) return;
            for (int64_t i = 0; i < length; ++i) {
                int64_t source = maps.padded.rank() ? maps.sources.back()[size_t(i)] : 0;
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

KernelList kernels(Cpu, PadBackward) {
    static constexpr Algorithm list[] = {{"reference", plain_layouts, prepare_backward, run_backward}};
    return list;
}

}  // namespace mge::ops

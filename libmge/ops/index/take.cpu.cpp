// SPDX-License-Identifier: Apache-2.0
// The result is outer × indices × inner; x and the tensors that are changed are outer × places × inner. The
// offset of each index combination is computed once, after the indices were checked; then rows of the inner
// part are read or written there. When the indexed axes are no neighbours, a row is not contiguous and comes
// with a table of its elements' offsets.
#include "libmge/ops/index/take.h"

#include <algorithm>
#include <cstring>

#include "libmge/kernel/cpu/check_indices.h"
#include "libmge/kernel/cpu/copy_loops.h"
#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/index/slice/assigned_value.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

struct IndexedAxis {
    int axis;
    int64_t extent, stride;  // those of x
    int64_t count;           // elements of the index tensor
    Strides strides;         // strides of the index tensor in the common shape
};

struct Places {
    std::string_view op;
    std::vector<IndexedAxis> axes;
    Shape indices;
    int64_t combinations = 1, outer = 1, inner = 1, outer_stride = 0;
    std::vector<int64_t> inner_offsets;  // empty: contiguous
    DType dtype = DType::f32;
    size_t bytes = 0;                    // size of x
    std::vector<cpu::CopyLoops> expand;  // copies of a value that broadcasts
    size_t first_input = 1;              // position of the first index tensor

    size_t offsets_bytes() const { return (size_t(combinations) * sizeof(int64_t) + 63) / 64 * 64; }
    int64_t rows() const { return outer * combinations; }
};

void fill_rows(Places& places, const Shape& x, const TakeShape& take) {
    Strides dense = dense_strides(x);
    bool neighbours = take.axes.back() - take.axes.front() + 1 == int(take.axes.size());
    if (neighbours) {
        for (int i = 0; i < take.axes.front(); ++i) places.outer *= x[i];
        for (int i = take.axes.back() + 1; i < x.rank(); ++i) places.inner *= x[i];
        places.outer_stride = places.outer ? x.numel() / places.outer : 0;
        return;
    }
    Shape rest;
    Strides strides{};
    for (int i = 0; i < x.rank(); ++i)
        if (std::find(take.axes.begin(), take.axes.end(), i) == take.axes.end()) {
            strides[size_t(rest.rank())] = dense[size_t(i)];
            rest.push_back(x[i]);
        }
    places.inner = rest.numel();
    for (int64_t n = 0; n < places.inner; ++n) {
        int64_t offset = 0, left = n;
        for (int i = rest.rank() - 1; i >= 0; --i) {
            offset += left % rest[i] * strides[size_t(i)];
            left /= rest[i];
        }
        places.inner_offsets.push_back(offset);
    }
}

Places make_places(const Problem& problem, size_t first_input) {
    auto& x = problem.inputs[0];
    auto indices = problem.inputs.subspan(first_input);
    auto take = take_shape(problem.op, problem.as<Take::Params>(), x.shape, indices);
    Places places;
    places.op = problem.op;
    places.first_input = first_input;
    places.indices = take.indices;
    places.combinations = take.indices.numel();
    places.dtype = x.dtype;
    places.bytes = x.bytes();
    Strides dense = dense_strides(x.shape);
    for (size_t i = 0; i < indices.size(); ++i)
        places.axes.push_back({take.axes[i], x.shape[take.axes[i]], dense[size_t(take.axes[i])],
                               indices[i].numel(), broadcast_strides(indices[i].shape, take.indices)});
    fill_rows(places, x.shape, take);
    return places;
}

Prepared prepare_take(const PrepareContext& context) {
    Places places = make_places(context.problem, 1);
    size_t workspace = places.offsets_bytes();
    return Prepared::make(std::move(places), workspace);
}

Prepared prepare_change(const PrepareContext& context) {
    auto& problem = context.problem;
    Places places = make_places(problem, 2);
    size_t workspace = places.offsets_bytes();
    Shape result =
        take_shape(problem.op, problem.as<Take::Params>(), problem.inputs[0].shape, problem.inputs.subspan(2))
            .result;
    Shape value = check_value_shape(problem.op, problem.inputs[1].shape, result);
    if (value.numel() != result.numel()) {
        places.expand.emplace_back(StridedCopy(size_of(places.dtype), result,
                                               StridedSide{0, broadcast_strides(value, result)},
                                               StridedSide{0, dense_strides(result)}));
        workspace += size_t(result.numel()) * size_of(places.dtype);
    }
    return Prepared::make(std::move(places), workspace);
}

// Checks all indices and writes the offset of each combination into the workspace.
const int64_t* find_offsets(const Places& places, const Launch& launch) {
    auto* offsets = static_cast<int64_t*>(launch.workspace);
    for (size_t k = 0; k < places.axes.size(); ++k)
        check_indices(places.op, places.axes[k].axis, launch.in<int32_t>(places.first_input + k),
                      places.axes[k].count, places.axes[k].extent);
    for (int64_t n = 0; n < places.combinations; ++n) {
        int64_t offset = 0;
        for (size_t k = 0; k < places.axes.size(); ++k) {
            auto& axis = places.axes[k];
            int64_t at = 0, rest = n;
            for (int i = places.indices.rank() - 1; i >= 0; --i) {
                at += rest % places.indices[i] * axis.strides[size_t(i)];
                rest /= places.indices[i];
            }
            int64_t index = launch.in<int32_t>(places.first_input + k)[at];
            offset += from_end(index, axis.extent) * axis.stride;
        }
        offsets[n] = offset;
    }
    return offsets;
}

// Calls fn(offset of the row in x, row) for the rows from `begin` to `end`.
template <class Fn>
void for_taken_rows(const Places& places, const int64_t* offsets, int64_t begin, int64_t end, Fn&& fn) {
    if (begin == end) return;
    const int64_t combinations = places.combinations;
    int64_t n = begin % combinations, base = begin / combinations * places.outer_stride;
    for (int64_t row = begin; row < end; n = 0, base += places.outer_stride)
        for (; n < combinations && row < end; ++n, ++row) fn(base + offsets[n], row);
}

// The same for rows of one element. The bounds of the loops are in registers, because the compiler must
// assume that fn changes what is in memory.
template <class Fn>
void for_taken_elements(const Places& places, const int64_t* offsets, int64_t begin, int64_t end, Fn fn) {
    const int64_t combinations = places.combinations, outer_stride = places.outer_stride;
    for (int64_t row = begin; row < end;) {
        const int64_t n = row % combinations, base = row / combinations * outer_stride;
        const int64_t count = std::min(combinations - n, end - row);
        for (int64_t i = 0; i < count; ++i) fn(base + offsets[n + i], row + i);
        row += count;
    }
}

template <class T>
void read_rows(const Places& places, const int64_t* offsets, const T* x, T* y, int64_t begin, int64_t end) {
    constexpr int64_t short_row = 64 / sizeof(T);  // copied in less time than memcpy is called
    auto rows = [&](auto&& copy) {
        for_taken_rows(places, offsets, begin, end,
                       [&](int64_t offset, int64_t row) { copy(x + offset, y + row * places.inner); });
    };
    const int64_t inner = places.inner;
    if (!places.inner_offsets.empty())
        rows([&](const T* from, T* to) {
            for (int64_t i = 0; i < inner; ++i) to[i] = from[places.inner_offsets[size_t(i)]];
        });
    else if (inner == 1)
        for_taken_elements(places, offsets, begin, end,
                           [=](int64_t offset, int64_t row) { y[row] = x[offset]; });
    else if (inner < short_row)
        rows([&](const T* from, T* to) { std::copy_n(from, inner, to); });
    else
        rows([&](const T* from, T* to) { std::memcpy(to, from, size_t(inner) * sizeof(T)); });
}

void run_take(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    const int64_t* offsets = find_offsets(places, launch);
    if (places.inner == 0) return;
    dispatch_size(places.dtype, [&]<class T>(std::type_identity<T>) {
        par_for(launch.threads, places.rows(), std::max<int64_t>(1, parallel_grain / places.inner),
                [&](int64_t begin, int64_t end) {
                    read_rows(places, offsets, launch.in<T>(0), launch.out<T>(0), begin, end);
                });
    });
}

// Copies x to y and gives the value, expanded to the shape of the places.
const void* start_change(const Places& places, const Launch& launch) {
    if (launch.inputs[0] != launch.outputs[0] && places.bytes)
        std::memcpy(launch.outputs[0], launch.inputs[0], places.bytes);
    if (places.expand.empty()) return launch.inputs[1];
    void* expanded = static_cast<char*>(launch.workspace) + places.offsets_bytes();
    places.expand[0].run(launch.inputs[1], expanded, launch.threads);
    return expanded;
}

// Calls fn(element to change, element of the value). Rows are written in order: places named twice keep the
// last value and add all of them, as one thread would. Only the outer part is shared between threads: its
// rows never meet.
template <class T, class Fn>
void change_elements(const Places& places, const Launch& launch, Fn fn) {
    const int64_t* offsets = find_offsets(places, launch);
    const T* value = static_cast<const T*>(start_change(places, launch));
    T* y = launch.out<T>(0);
    const int64_t inner = places.inner, combinations = places.combinations;
    auto change_rows = [&](int64_t begin, int64_t end) {
        if (!places.inner_offsets.empty())
            for_taken_rows(places, offsets, begin, end, [&](int64_t offset, int64_t row) {
                for (int64_t i = 0; i < inner; ++i)
                    fn(y[offset + places.inner_offsets[size_t(i)]], value[row * inner + i]);
            });
        else if (inner == 1)
            for_taken_elements(places, offsets, begin, end,
                               [=](int64_t offset, int64_t row) { fn(y[offset], value[row]); });
        else
            for_taken_rows(places, offsets, begin, end, [=](int64_t offset, int64_t row) {
                T* to = y + offset;
                const T* from = value + row * inner;
                for (int64_t i = 0; i < inner; ++i) fn(to[i], from[i]);
            });
    };
    par_for(launch.threads, places.outer,
            std::max<int64_t>(1, parallel_grain / std::max<int64_t>(1, combinations * inner)),
            [&](int64_t begin, int64_t end) { change_rows(begin * combinations, end * combinations); });
}

void run_set(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    dispatch_size(places.dtype, [&]<class T>(std::type_identity<T>) {
        change_elements<T>(places, launch, [](T& to, T from) { to = from; });
    });
}

void run_add(const Prepared& prepared, const Launch& launch) {
    auto& places = prepared.state<Places>();
    dispatch_dtype(places.dtype, NumberTypes{}, [&]<class T>(std::type_identity<T>) {
        change_elements<T>(places, launch, [](T& sum, T term) {
            if constexpr (std::is_integral_v<T>)
                sum = T(sum + term);
            else
                sum = T(ComputedAs<T>(sum) + ComputedAs<T>(term));
        });
    });
}

}  // namespace

KernelList kernels(Cpu, Take) { return one_algorithm<prepare_take, run_take>("rows"); }
KernelList kernels(Cpu, SetTake) { return one_algorithm<prepare_change, run_set>("rows"); }
KernelList kernels(Cpu, AddTake) { return one_algorithm<prepare_change, run_add>("rows"); }

}  // namespace mge::ops

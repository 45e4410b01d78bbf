// SPDX-License-Identifier: Apache-2.0
// A row is sorted as integers: the upper 32 bits order the values, the lower 32 bits are their places, so
// that one comparison does both and equal values keep their order. Orders of 64-bit elements are kept apart.
#include "libmge/ops/index/order/sort.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// Rises with the value; −0 equals 0, NaN is the largest or the smallest.
template <class T>
auto order_of(T value, bool nan_is_smallest) {
    using Order = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    constexpr Order sign = Order(1) << (8 * sizeof(Order) - 1);
    if constexpr (std::is_integral_v<T>) {
        return std::is_signed_v<T> ? Order(value) ^ sign : Order(value);
    } else {
        std::conditional_t<sizeof(T) == 8, double, float> real(value);
        if (real != real) return nan_is_smallest ? 0 : ~Order(0);
        if (real == 0) real = 0;
        auto bits = std::bit_cast<Order>(real);
        return bits & sign ? ~bits : bits | sign;
    }
}

// NaN is last unless it is the largest in falling order.
template <class Params>
bool is_nan_smallest(const Params& p) {
    return p.descending && !p.nan_is_largest;
}

// Sorts the first `k` of `keys` into place; with no_sort only makes them the first ones.
template <class Before>
void order_keys(std::vector<uint64_t>& keys, int64_t k, bool no_sort, Before before) {
    constexpr int64_t few = 64;  // most keys are then compared with the heap's top alone
    auto begin = keys.begin(), middle = begin + k, end = keys.end();
    if (k * few <= int64_t(keys.size())) return std::partial_sort(begin, middle, end, before);
    if (middle != end || no_sort) std::nth_element(begin, middle - 1, end, before);
    if (!no_sort) std::sort(begin, middle, before);
}

template <class T>
void read_row(const void* x, int64_t step, bool nan_is_smallest, std::vector<uint64_t>& keys,
              std::vector<uint64_t>& wide) {
    auto* values = static_cast<const T*>(x);
    if constexpr (sizeof(T) == 8) wide.resize(keys.size());
    for (size_t i = 0; i < keys.size(); ++i) {
        auto order = order_of(values[int64_t(i) * step], nan_is_smallest);
        if constexpr (sizeof(T) == 8)
            wide[i] = order, keys[i] = i;
        else
            keys[i] = uint64_t(order) << 32 | i;
    }
}

template <class T>
void write_row(const void* x, int64_t step, std::span<const uint64_t> keys, void* y, int32_t* places) {
    auto* from = static_cast<const T*>(x);
    auto* to = static_cast<T*>(y);
    for (int64_t i = 0; i < int64_t(keys.size()); ++i) {
        auto place = int32_t(uint32_t(keys[size_t(i)]));
        to[i * step] = from[place * step];
        places[i * step] = place;
    }
}

// Only the loops that read and write a row are compiled for each type.
class RowSorter {
public:
    template <class Params>
    RowSorter(DType dtype, int64_t length, int64_t k, const Params& p, bool no_sort)
        : keys_(size_t(length)),
          k_(k),
          descending_(p.descending),
          nan_is_smallest_(is_nan_smallest(p)),
          no_sort_(no_sort) {
        dispatch_dtype(dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) { read_ = read_row<T>; });
        dispatch_size(dtype, [&]<class T>(std::type_identity<T>) { write_ = write_row<T>; });
    }

    // Orders the k first elements of the row with elements x[0], x[step], …
    void sort(const void* x, int64_t step) {
        read_(x, step, nan_is_smallest_, keys_, wide_);
        if (!wide_.empty())
            order_keys(keys_, k_, no_sort_, [&](uint64_t a, uint64_t b) {
                std::pair first{wide_[a], a}, second{wide_[b], b};
                return descending_ ? first > second : first < second;
            });
        else if (descending_)
            order_keys(keys_, k_, no_sort_, std::greater<>());
        else
            order_keys(keys_, k_, no_sort_, std::less<>());
    }
    // Writes these elements of the row, and their places.
    void write(const void* x, int64_t step, void* y, int32_t* places) const {
        write_(x, step, std::span(keys_).first(size_t(k_)), y, places);
    }
    // Writes the first element that equals the last of these, and its place.
    void write_last(const void* x, void* y, int32_t* place) const {
        const uint64_t last = order(keys_[size_t(k_ - 1)]);
        uint64_t first = keys_[size_t(k_ - 1)];
        for (uint64_t key : keys_)
            if (order(key) == last && uint32_t(key) < uint32_t(first)) first = key;
        write_(x, 1, {&first, 1}, y, place);
    }

private:
    uint64_t order(uint64_t key) const { return wide_.empty() ? key >> 32 : wide_[key]; }

    std::vector<uint64_t> keys_;
    std::vector<uint64_t> wide_;  // the orders of 64-bit elements, whose keys are their places alone
    int64_t k_;
    bool descending_, nan_is_smallest_, no_sort_;
    decltype(&read_row<float>) read_;
    decltype(&write_row<uint32_t>) write_;
};

void run_sort(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Sort::Params>>();
    auto& x = problem.inputs[0];
    int axis = normalize_axis(Sort::name, problem.params.axis, x.shape.rank());
    int64_t length = x.shape[axis], inner = 1, size = int64_t(size_of(x.dtype));
    for (int i = axis + 1; i < x.shape.rank(); ++i) inner *= x.shape[i];
    if (x.numel() == 0) return;
    constexpr int64_t nanoseconds_per_element = 16;
    int64_t grain = std::max<int64_t>(1, parallel_grain / nanoseconds_per_element / length);
    par_for(launch.threads, x.numel() / length, grain, [&](int64_t begin, int64_t end) {
        RowSorter sorter(x.dtype, length, length, problem.params, false);
        for (int64_t row = begin; row < end; ++row) {
            int64_t offset = row / inner * inner * length + row % inner;
            const auto* from = launch.in<std::byte>(0) + offset * size;
            sorter.sort(from, inner);
            sorter.write(from, inner, launch.out<std::byte>(0) + offset * size,
                         launch.out<int32_t>(1) + offset);
        }
    });
}

void run_topk(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Topk::Params>>();
    auto& x = problem.inputs[0];
    auto& p = problem.params;
    int64_t length = x.shape[x.shape.rank() - 1], k = std::min(p.k, length), size = int64_t(size_of(x.dtype));
    if (x.numel() == 0) return;
    constexpr int64_t nanoseconds_per_element = 4;
    int64_t grain = std::max<int64_t>(1, parallel_grain / nanoseconds_per_element / length);
    par_for(launch.threads, x.numel() / length, grain, [&](int64_t begin, int64_t end) {
        RowSorter sorter(x.dtype, length, k, p, p.no_sort || p.kth_only);
        for (int64_t row = begin; row < end; ++row) {
            int64_t to = p.kth_only ? row : row * k;
            const auto* from = launch.in<std::byte>(0) + row * length * size;
            auto* y = launch.out<std::byte>(0) + to * size;
            int32_t* places = launch.out<int32_t>(1) + to;
            sorter.sort(from, 1);
            if (p.kth_only)
                sorter.write_last(from, y, places);
            else
                sorter.write(from, 1, y, places);
        }
    });
}

}  // namespace

KernelList kernels(Cpu, Sort) { return one_algorithm<copy_problem<Sort::Params>, run_sort>("rows"); }
KernelList kernels(Cpu, Topk) { return one_algorithm<copy_problem<Topk::Params>, run_topk>("rows"); }

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
// A row is sorted as integers: the upper 32 bits order the values, the lower 32 bits are their places, so
// that one comparison does both and equal values keep their order. 64-bit elements are compared through their
// row.
#include "libmge/ops/index/order/sort.h"

#include <algorithm>
#include <bit>
#include <functional>

#include "libmge/kernel/cpu/parallel.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// Rises with the value; −0 equals 0, NaN is the largest or the smallest.
template <class T>
uint32_t order_of(T value, bool nan_is_smallest) {
    if constexpr (std::is_same_v<T, bool>) {
        return value;
    } else if constexpr (std::is_integral_v<T>) {
        return std::is_signed_v<T> ? uint32_t(int32_t(value)) ^ 0x80000000u : uint32_t(value);
    } else {
        float f = float(value);
        if (f != f) return nan_is_smallest ? 0 : UINT32_MAX;
        if (f == 0) f = 0;
        auto bits = std::bit_cast<uint32_t>(f);
        return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
    }
}

// The same of elements of 64 bits.
template <class T>
uint64_t wide_order_of(T value, bool nan_is_smallest) {
    constexpr uint64_t sign = uint64_t(1) << 63;
    if constexpr (std::is_integral_v<T>) {
        return std::is_signed_v<T> ? uint64_t(value) ^ sign : uint64_t(value);
    } else {
        if (value != value) return nan_is_smallest ? 0 : UINT64_MAX;
        if (value == 0) value = 0;
        auto bits = std::bit_cast<uint64_t>(value);
        return bits & sign ? ~bits : bits | sign;
    }
}

// NaN is last unless it is the largest in falling order.
template <class Params>
bool is_nan_smallest(const Params& p) {
    return p.descending && !p.nan_is_largest;
}

// Sorts the first `k` of `keys` into place; with no_sort only makes them the first ones.
template <class Key, class Before>
void order_keys(std::vector<Key>& keys, int64_t k, bool no_sort, Before before) {
    auto begin = keys.begin(), middle = begin + k, end = keys.end();
    if (middle != end || no_sort) std::nth_element(begin, middle - 1, end, before);
    if (!no_sort) std::sort(begin, middle, before);
}

template <class T>
class RowSorter {
public:
    template <class Params>
    RowSorter(int64_t length, int64_t k, const Params& p, bool no_sort)
        : keys_(size_t(length)),
          k_(k),
          descending_(p.descending),
          nan_is_smallest_(is_nan_smallest(p)),
          no_sort_(no_sort) {}

    // Places of the k first elements of the row with elements x[0], x[step], …
    int32_t place(int64_t i) const { return int32_t(uint32_t(keys_[size_t(i)])); }
    void sort(const T* x, int64_t step) {
        for (size_t i = 0; i < keys_.size(); ++i) {
            if constexpr (sizeof(T) == 8)
                keys_[i] = i;
            else
                keys_[i] = uint64_t(order_of(x[int64_t(i) * step], nan_is_smallest_)) << 32 | i;
        }
        if constexpr (sizeof(T) == 8)
            order_keys(keys_, k_, no_sort_, [&](uint64_t a, uint64_t b) {
                std::pair first{wide_order_of(x[int64_t(a) * step], nan_is_smallest_), a};
                std::pair second{wide_order_of(x[int64_t(b) * step], nan_is_smallest_), b};
                return descending_ ? first > second : first < second;
            });
        else if (descending_)
            order_keys(keys_, k_, no_sort_, std::greater<>());
        else
            order_keys(keys_, k_, no_sort_, std::less<>());
    }

private:
    std::vector<uint64_t> keys_;
    int64_t k_;
    bool descending_, nan_is_smallest_, no_sort_;
};

template <class T>
void sort_rows(const TensorSpec& x, const Sort::Params& p, const Launch& launch) {
    int axis = normalize_axis(Sort::name, p.axis, x.shape.rank());
    int64_t length = x.shape[axis], inner = 1;
    for (int i = axis + 1; i < x.shape.rank(); ++i) inner *= x.shape[i];
    if (x.numel() == 0) return;
    constexpr int64_t nanoseconds_per_element = 16;
    int64_t grain = std::max<int64_t>(1, parallel_grain / nanoseconds_per_element / length);
    par_for(launch.threads, x.numel() / length, grain, [&](int64_t begin, int64_t end) {
        RowSorter<T> sorter(length, length, p, false);
        for (int64_t row = begin; row < end; ++row) {
            int64_t offset = row / inner * inner * length + row % inner;
            const T* from = launch.in<T>(0) + offset;
            sorter.sort(from, inner);
            for (int64_t i = 0; i < length; ++i) {
                launch.out<T>(0)[offset + i * inner] = from[sorter.place(i) * inner];
                launch.out<int32_t>(1)[offset + i * inner] = sorter.place(i);
            }
        }
    });
}

template <class T>
void first_of_rows(const TensorSpec& x, const Topk::Params& p, const Launch& launch) {
    int64_t length = x.shape[x.shape.rank() - 1], k = std::min(p.k, length);
    if (x.numel() == 0) return;
    constexpr int64_t nanoseconds_per_element = 4;
    int64_t grain = std::max<int64_t>(1, parallel_grain / nanoseconds_per_element / length);
    par_for(launch.threads, x.numel() / length, grain, [&](int64_t begin, int64_t end) {
        RowSorter<T> sorter(length, k, p, p.no_sort || p.kth_only);
        for (int64_t row = begin; row < end; ++row) {
            const T* from = launch.in<T>(0) + row * length;
            sorter.sort(from, 1);
            if (p.kth_only) {
                // The first place that holds the k-th value.
                auto order = [&](int64_t i) {
                    if constexpr (sizeof(T) == 8)
                        return wide_order_of(from[i], is_nan_smallest(p));
                    else
                        return order_of(from[i], is_nan_smallest(p));
                };
                int64_t at = 0;
                while (order(at) != order(sorter.place(k - 1))) ++at;
                launch.out<T>(0)[row] = from[at];
                launch.out<int32_t>(1)[row] = int32_t(at);
                continue;
            }
            for (int64_t i = 0; i < k; ++i) {
                launch.out<T>(0)[row * k + i] = from[sorter.place(i)];
                launch.out<int32_t>(1)[row * k + i] = sorter.place(i);
            }
        }
    });
}

void run_sort(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Sort::Params>>();
    dispatch_dtype(problem.inputs[0].dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        sort_rows<T>(problem.inputs[0], problem.params, launch);
    });
}
void run_topk(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Topk::Params>>();
    dispatch_dtype(problem.inputs[0].dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        first_of_rows<T>(problem.inputs[0], problem.params, launch);
    });
}

}  // namespace

KernelList kernels(Cpu, Sort) { return one_algorithm<copy_problem<Sort::Params>, run_sort>("rows"); }
KernelList kernels(Cpu, Topk) { return one_algorithm<copy_problem<Topk::Params>, run_topk>("rows"); }

}  // namespace mge::ops

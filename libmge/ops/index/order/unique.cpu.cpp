// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/order/unique.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <vector>

#include "libmge/kernel/plain_layouts.h"
#include "libmge/tensor/dtype_dispatch.h"

namespace mge::ops {
namespace {

// -1, 0 or 1: NaN is equal to itself and behind all numbers.
template <class T>
int order_of(T a, T b) {
    if (a < b) return -1;
    if (b < a) return 1;
    return int(a != a) - int(b != b);
}

template <class T>
int order_of_slices(const void* a, const void* b, int64_t length) {
    auto *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    for (int64_t i = 0; i < length; ++i)
        if (int order = order_of(x[i], y[i])) return order;
    return 0;
}

// Only their order depends on the dtype: sorting is compiled once.
struct Slices {
    const std::byte* x;
    int64_t count, length;
    size_t bytes;  // size of one
    int (*order)(const void* a, const void* b, int64_t length);

    const std::byte* operator[](int64_t i) const { return x + size_t(i) * bytes; }
    int compare(int64_t a, int64_t b) const { return order((*this)[a], (*this)[b], length); }
};

// Which slices are equal: groups, each of ascending places, in the order of their elements.
std::vector<std::vector<int64_t>> groups_of(const Slices& slices) {
    std::vector<int64_t> order(static_cast<size_t>(slices.count));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return slices.compare(a, b) < 0; });
    std::vector<std::vector<int64_t>> groups;
    for (int64_t place : order) {
        if (groups.empty() || slices.compare(groups.back()[0], place)) groups.emplace_back();
        groups.back().push_back(place);
    }
    return groups;
}

void find_unique(const Launch& launch, const TensorSpec& spec, const Slices& slices, bool sorted) {
    auto places = [&](size_t output, int64_t n) {
        return static_cast<int64_t*>(launch.allocator->allocate(output, {DType::i64, {n}, {}}));
    };
    int64_t* inverse = places(2, slices.count);  // computed first, because it detects an excess
    auto groups = groups_of(slices);
    if (!sorted) std::ranges::sort(groups, {}, [](auto& group) { return group[0]; });
    auto found = int64_t(groups.size());
    Shape shape = spec.shape;
    shape[0] = found;
    auto* values = static_cast<std::byte*>(launch.allocator->allocate(0, {spec.dtype, shape, {}}));
    int64_t *first = places(1, found), *counts = places(3, found);
    for (int64_t i = 0; i < found; ++i) {
        auto& group = groups[size_t(i)];
        std::copy_n(slices[group[0]], slices.bytes, values + size_t(i) * slices.bytes);
        first[i] = group[0];
        counts[i] = int64_t(group.size());
        for (int64_t place : group) inverse[place] = i;
    }
}

void run_sorted(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Unique::Params>>();
    auto& spec = problem.inputs[0];
    Slices slices{launch.in<std::byte>(0), spec.shape[0], 1, 0, nullptr};
    for (int i = 1; i < spec.shape.rank(); ++i) slices.length *= spec.shape[i];
    slices.bytes = size_t(slices.length) * size_of(spec.dtype);
    dispatch_dtype(spec.dtype, AllTypes{},
                   [&]<class T>(std::type_identity<T>) { slices.order = order_of_slices<T>; });
    find_unique(launch, spec, slices, problem.params.sorted);
}

}  // namespace

KernelList kernels(Cpu, Unique) { return one_algorithm<copy_problem<Unique::Params>, run_sorted>("sorted"); }

}  // namespace mge::ops

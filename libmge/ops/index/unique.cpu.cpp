// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/index/unique.h"

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
int order_of_slices(const T* a, const T* b, int64_t length) {
    for (int64_t i = 0; i < length; ++i)
        if (int order = order_of(a[i], b[i])) return order;
    return 0;
}

// Which slices are equal: groups, each of ascending places, in the order of their elements.
template <class T>
std::vector<std::vector<int64_t>> groups_of(const T* x, int64_t count, int64_t length) {
    std::vector<int64_t> order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    auto compare = [&](int64_t a, int64_t b) {
        return order_of_slices(x + a * length, x + b * length, length);
    };
    std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return compare(a, b) < 0; });
    std::vector<std::vector<int64_t>> groups;
    for (int64_t place : order) {
        if (groups.empty() || compare(groups.back()[0], place)) groups.emplace_back();
        groups.back().push_back(place);
    }
    return groups;
}

template <class T>
void find_unique(const Launch& launch, const TensorSpec& spec, bool sorted) {
    auto* x = launch.in<T>(0);
    int64_t count = spec.shape[0], length = 1;
    for (int i = 1; i < spec.shape.rank(); ++i) length *= spec.shape[i];
    auto places = [&](size_t output, int64_t n) {
        return static_cast<int64_t*>(launch.allocator->allocate(output, {DType::i64, {n}, {}}));
    };
    int64_t* inverse = places(2, count);  // before all else: it tells when there are too many
    auto groups = groups_of(x, count, length);
    if (!sorted) std::ranges::sort(groups, {}, [](auto& group) { return group[0]; });
    auto found = int64_t(groups.size());
    Shape shape = spec.shape;
    shape[0] = found;
    auto* values = static_cast<T*>(launch.allocator->allocate(0, {spec.dtype, shape, {}}));
    int64_t *first = places(1, found), *counts = places(3, found);
    for (int64_t i = 0; i < found; ++i) {
        auto& group = groups[size_t(i)];
        std::copy_n(x + group[0] * length, length, values + i * length);
        first[i] = group[0];
        counts[i] = int64_t(group.size());
        for (int64_t place : group) inverse[place] = i;
    }
}

void run_sorted(const Prepared& prepared, const Launch& launch) {
    auto& problem = prepared.state<ProblemState<Unique::Params>>();
    auto& spec = problem.inputs[0];
    dispatch_dtype(spec.dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
        find_unique<T>(launch, spec, problem.params.sorted);
    });
}

}  // namespace

KernelList kernels(Cpu, Unique) {
    static constexpr Algorithm list[] = {{"sorted", plain_layouts, copy_problem<Unique::Params>, run_sorted}};
    return list;
}

}  // namespace mge::ops

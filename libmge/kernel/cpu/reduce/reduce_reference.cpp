// SPDX-License-Identifier: Apache-2.0
#include <vector>

#include "libmge/kernel/cpu/reduce/reduce.h"
#include "libmge/kernel/cpu/reduce/reduce_meaning.h"

namespace mge::cpu {
namespace {

struct ReferenceState {
    TensorSpec x, y;
    std::array<int64_t, max_rank> stride{};  // in y, per axis of x; 0 where reduced
    Reduction kind = Reduction::sum;
    bool is_mean = false;
    int64_t count = 1;
};

// The place in y of element i of x.
[[gnu::noinline]] int64_t place_of(const ReferenceState& state, int64_t i) {
    int64_t at = 0;
    for (int axis = state.x.shape.rank() - 1; axis >= 0; --axis) {
        at += i % state.x.shape[axis] * state.stride[size_t(axis)];
        i /= state.x.shape[axis];
    }
    return at;
}

template <Reduction kind, bool is_mean, class T>
void run_reference_typed(const ReferenceState& state, const Launch& launch) {
    using A = typename Partial<T, kind, is_mean>::Type;
    using J = Joined<A, kind>;
    std::vector<J> totals(size_t(state.y.numel()), identity<kind, J>());
    for (int64_t i = 0, n = state.x.numel(); i < n; ++i) {
        auto at = size_t(place_of(state, i));
        totals[at] = combine<kind>(totals[at], J(A(launch.in<T>(0)[i])));
    }
    if constexpr (is_mean)
        for (auto& total : totals) total = J(double(total) / double(state.count));
    write_results(totals.data(), int64_t(totals.size()), state.y.dtype, launch.outputs[0]);
}

}  // namespace

Prepared prepare_reference_reduction(const Problem& problem, const std::array<bool, max_rank>& reduced,
                                     Reduction kind, bool is_mean) {
    auto& x = problem.inputs[0];
    ReferenceState state{x, problem.outputs[0], {}, kind, is_mean, reduced_count(x.shape, reduced)};
    int64_t step = 1;
    for (int axis = x.shape.rank() - 1; axis >= 0; --axis) {
        if (reduced[size_t(axis)]) continue;
        state.stride[size_t(axis)] = step;
        step *= x.shape[axis];
    }
    return Prepared::make(std::move(state));
}

void run_reference_reduction(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<ReferenceState>();
    dispatch_reduction(state.kind, state.is_mean, [&](auto kind, auto is_mean) {
        dispatch_dtype(state.x.dtype, AllTypes{}, [&]<class T>(std::type_identity<T>) {
            run_reference_typed<decltype(kind)::value, decltype(is_mean)::value, T>(state, launch);
        });
    });
}

}  // namespace mge::cpu

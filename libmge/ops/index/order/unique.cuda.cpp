// SPDX-License-Identifier: Apache-2.0
// The slices are sorted, by one element after the other from the last, so that equal ones are neighbours.
#include "libmge/ops/index/order/unique.h"

#include "libmge/kernel/cuda/launch.h"
#include "libmge/kernel/plain_layouts.h"
#include "libmge/ops/index/cond_take.cuda.h"
#include "libmge/ops/index/order/unique.cuda.h"
#include "libmge/ops/index/place_order.cuda.h"

namespace mge::ops {
namespace {

struct State : ProblemState<Unique::Params> {
    explicit State(const Problem& problem) : ProblemState(problem) {
        auto& x = inputs[0].shape;
        slices = {nullptr, x[0], 1};
        for (int i = 1; i < x.rank(); ++i) slices.length *= x[i];
        order = {PlaceOrder::Method::radix, slices.count, 0};
    }
    cuda::Slices slices;
    PlaceOrder order;
};

// Behind what sorting needs.
struct Work {
    int64_t* before;        // counts of the parts of a mask
    uint32_t* first_slice;  // first slice of each group
    int32_t *begin, *in_order;
    bool *begins, *unread;  // flags of each slice

    static size_t bytes(int64_t count) {
        return size_t(cuda::mask_parts(count) + 1) * sizeof(int64_t) +
               size_t(count) * (3 * sizeof(int32_t) + 2);
    }
    static Work in(char* memory, int64_t count) {
        Work work{};
        work.before = reinterpret_cast<int64_t*>(memory);
        work.first_slice = reinterpret_cast<uint32_t*>(work.before + cuda::mask_parts(count) + 1);
        work.begin = reinterpret_cast<int32_t*>(work.first_slice + count);
        work.in_order = work.begin + count;
        work.begins = reinterpret_cast<bool*>(work.in_order + count);
        work.unread = work.begins + count;
        return work;
    }
};

Support supports(const Problem& problem) {
    if (Support plain = plain_layouts(problem); !plain) return plain;
    return PlaceOrder::supports(PlaceOrder::Method::radix, problem.inputs[0].shape[0]);
}

size_t order_bytes(const State& state) { return (state.order.workspace() + 63) / 64 * 64; }

Prepared prepare(const PrepareContext& context) {
    State state(context.problem);
    size_t workspace = order_bytes(state) + Work::bytes(state.slices.count);
    return Prepared::make(std::move(state), workspace);
}

cuda::KeysToSort<uint64_t> order_slices(const State& state, const cuda::Slices& slices, const Launch& launch,
                                        bool* begins) {
    return cuda::order_slices(cuda::stream_of(launch), cuda::type_index(state.inputs[0].dtype), slices,
                              state.order.keys_in(launch.workspace), begins);
}

// Waits, since the host has to know how many there are.
void run(const Prepared& prepared, const Launch& launch) {
    auto& state = prepared.state<State>();
    cuda::Slices slices = state.slices;
    slices.x = launch.inputs[0];
    int64_t n = slices.count;
    auto work = Work::in(static_cast<char*>(launch.workspace) + order_bytes(state), n);
    cuda::SliceGroups groups{n, 0, nullptr, work.begin, work.first_slice, nullptr};
    auto stream = cuda::stream_of(launch);
    if (n) {
        groups.numbers = order_slices(state, slices, launch, work.begins).numbers;
        cuda::count_held(stream, work.begins, n, work.before);
        launch.queue->copy_to_host(&groups.groups, work.before + cuda::mask_parts(n), sizeof groups.groups);
    }
    auto places = [&](size_t output, int64_t count) {
        return static_cast<int64_t*>(launch.allocator->allocate(output, {DType::i64, {count}, {}}));
    };
    Shape shape = state.inputs[0].shape;
    shape[0] = groups.groups;
    void* values = launch.allocator->allocate(0, {state.inputs[0].dtype, shape, {}});
    int64_t *first = places(1, groups.groups), *inverse = places(2, n), *counts = places(3, groups.groups);
    if (!n) return;
    cuda::take_held(stream, work.begins, n, work.before, sizeof(uint32_t), groups.numbers, work.first_slice,
                    work.begin);
    if (!state.params.sorted) {
        launch.queue->fill(work.begins, 0, size_t(n));
        cuda::mark_first_slices(stream, groups, work.begins);
        cuda::count_held(stream, work.begins, n, work.before);
        cuda::take_held(stream, work.begins, n, work.before, 1, work.begins, work.unread, work.in_order);
        groups.in_order = work.in_order;
    }
    cuda::write_groups(stream, groups, first, inverse, counts);
    cuda::take_slices(stream, slices, int(size_of(state.inputs[0].dtype)), first, groups.groups, values);
}

}  // namespace

KernelList kernels(Cuda, Unique) {
    static constexpr Algorithm list[] = {{"sorted", supports, prepare, run}};
    return list;
}

}  // namespace mge::ops

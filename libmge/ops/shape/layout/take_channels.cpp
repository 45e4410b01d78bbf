// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/shape/layout/take_channels.h"

#include <algorithm>

#include "libmge/ops/shape/image.h"
#include "libmge/ops/shape/layout/reorder_plan.h"

namespace mge::ops {
namespace {

struct TakenChannel {
    size_t input;
    int64_t from, to;
    auto operator<=>(const TakenChannel&) const = default;
};

// In the order of what is read.
std::vector<TakenChannel> taken_channels(const Problem& problem) {
    std::vector<int64_t> ends;  // ends of the inputs' channels among all
    for (auto& x : problem.inputs) ends.push_back((ends.empty() ? 0 : ends.back()) + x.shape[channel_axis]);
    std::vector<TakenChannel> taken;
    int64_t to = 0;
    for (int64_t channel : problem.as<TakeChannels::Params>().channels) {
        auto input = size_t(std::ranges::upper_bound(ends, channel) - ends.begin());
        taken.push_back({input, channel - (input ? ends[input - 1] : 0), to++});
    }
    std::ranges::sort(taken);
    return taken;
}

bool is_permutation(IntList order, size_t count) {
    std::ranges::sort(order);
    for (size_t i = 0; i < order.size(); ++i)
        if (order[i] != int64_t(i)) return false;
    return order.size() == count;
}

}  // namespace

TensorSpecs TakeChannels::infer(const Params& p, Specs in) {
    if (in.empty()) throw_value_error(name, "needs at least one tensor");
    TensorSpec y = in[0];
    int64_t total = 0;
    for (auto& x : in) {
        Shape expected = y.shape;
        if (x.shape.rank() == image_rank && expected.rank() == image_rank)
            expected.set(channel_axis, x.shape.extent(channel_axis));
        if (x.shape.rank() != image_rank || !can_be_same(name, x.shape, expected))
            throw_user(name, text("takes images (N, C, H, W) that differ in their channels only, got ",
                                  y.shape, " and ", x.shape));
        if (__builtin_add_overflow(total, x.shape[channel_axis], &total))
            throw_user(name, "more channels than an int64 can count");
    }
    for (int64_t channel : p.channels)
        if (channel < 0 || channel >= total)
            throw_user(name, text("channel ", channel, " is out of range for ", total), ErrorClass::index);
    if (!p.order.empty() && !is_permutation(p.order, p.channels.size()))
        throw_value_error(name, "order must be a permutation of the ", p.channels.size(), " channels");
    y.shape[channel_axis] = int64_t(p.channels.size());
    return {{y.dtype, y.shape, {}}};
}

std::vector<ChannelRun> channel_runs(const Problem& problem) {
    std::vector<ChannelRun> runs;
    for (auto& next : taken_channels(problem)) {
        if (!runs.empty()) {
            auto& run = runs.back();
            int64_t step = next.to - run.to - (run.count - 1) * run.step;
            bool follows = next.input == run.input && next.from == run.from + run.count && step > 0;
            if (follows && (run.count == 1 || step == run.step)) {
                run.step = step;
                ++run.count;
                continue;
            }
        }
        runs.push_back({next.input, next.from, next.to, 1, 1});
    }
    return runs;
}

Support supports_channel_copies(const Problem& problem) {
    for (auto specs : {problem.inputs, problem.outputs})
        for (auto& spec : specs) {
            if (spec.layout != problem.outputs[0].layout) return {"all images must have the same layout"};
            if (!spec.layout.is_plain() && spec.layout != Layout::named("nhwc"))
                return {"only the layouts plain and nhwc"};
        }
    return supported;
}

std::vector<ChannelCopy> plan_channel_copies(const Problem& problem) {
    auto& y = problem.outputs[0];
    ElementPlaces target_places = *places_of(y);
    std::vector<ChannelCopy> copies;
    for (auto& run : channel_runs(problem)) {
        auto& x = problem.inputs[run.input];
        ElementPlaces source_places = *places_of(x);
        StridedSide source, target;
        for (size_t i = 0; i < image_rank; ++i) {
            source.strides[i] = source_places[i].outer;
            target.strides[i] = target_places[i].outer;
        }
        source.offset = run.from * source.strides[channel_axis];
        target.offset = run.to * target.strides[channel_axis];
        target.strides[channel_axis] *= run.step;
        Shape shape = y.shape;
        shape[channel_axis] = run.count;
        copies.push_back({run.input, {size_of(y.dtype), shape, source, target}});
    }
    return copies;
}

}  // namespace mge::ops

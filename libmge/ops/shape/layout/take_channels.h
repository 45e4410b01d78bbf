// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "libmge/kernel/strided_copy.h"
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge::ops {

// Joins, slices and shuffles of channels inside compiled programs: the pass fuse_channel_moves inserts it.
// Its kernels support channels last and blocks of channels, too.
struct TakeChannels {
    static constexpr auto name = "take_channels";
    static constexpr auto doc =
        "Selects channels: channel i of the result (N, C, H, W) is channel `channels[i]` of the tensors "
        "xs, joined along their channels.";
    static constexpr auto inputs = names(variadic("xs"));
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.promotion = Promotion::common};
    struct Params {
        IntList channels, order;
    };
    static constexpr auto fields = field_list(
        field<&Params::channels>("channels",
                                 "Index of each channel of the result among the joined channels."),
        field<&Params::order>("order",
                              "Position of each channel of the result in the source model, for tools that "
                              "compare values; empty: the same order. It changes no value."));
    static constexpr ImageLayouts layouts{};
    static constexpr AlwaysIndependent batch_independence{};
    static constexpr bool stops_gradient = true;

    static TensorSpecs infer(const Params&, Specs);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<TakeChannels> take_channels{};

// Channels from, from + 1, … of an input that are channels to, to + step, … of the result.
struct ChannelRun {
    size_t input;
    int64_t from, to, count, step;
};
// All channels of the result, in as few runs as steps of one length allow.
MGE_API std::vector<ChannelRun> channel_runs(const Problem& problem);

// Plain images or such with channels last, in and out.
MGE_API Support supports_channel_copies(const Problem& problem);
// A copy for each run, of its input.
struct ChannelCopy {
    size_t input;
    StridedCopy copy;
};
MGE_API std::vector<ChannelCopy> plan_channel_copies(const Problem& problem);

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/op/apply.h"
#include "libmge/op/backend.h"

namespace mge {

namespace ops {

// For n processes with rank r in their group; x0 is the size of x along the first axis.
enum class CollectiveMode : uint8_t {
    all_reduce_sum,      // y is the sum of all x
    all_reduce_max,      // the largest
    all_reduce_min,      // the least
    reduce_sum,          // the sum, for rank 0 alone
    broadcast,           // rank 0's x
    all_gather,          // all x, one behind the other along the first axis
    gather,              // the same, for rank 0 alone
    reduce_scatter_sum,  // part r of n, along the first axis, of the sum
    scatter,             // part r of rank 0's x
    all_to_all,          // part r of each x, one behind the other
};

}  // namespace ops

template <>
struct EnumNames<ops::CollectiveMode> {
    static constexpr std::string_view names[] = {
        "all_reduce_sum", "all_reduce_max", "all_reduce_min",     "reduce_sum", "broadcast",
        "all_gather",     "gather",         "reduce_scatter_sum", "scatter",    "all_to_all"};
};

namespace ops {

struct Collective {
    static constexpr auto name = "collective";
    static constexpr auto doc =
        "Exchanges tensors between the processes of a group. Every process must apply it. A process that "
        "only receives passes a tensor like the result, whose values are not read. A process that only "
        "sends gets an empty tensor.";
    static constexpr auto inputs = names("x");
    static constexpr auto takes = DTypes::all;
    static constexpr OpTraits traits{.effect = true, .of_every_device = true};
    struct Params {
        CollectiveMode mode = CollectiveMode::all_reduce_sum;
        IntList ranks{0};
        int64_t rank = 0;
    };
    static constexpr auto fields = field_list(
        field<&Params::mode>("mode", "The exchange: a reduction, broadcast, gather, scatter or all_to_all."),
        field<&Params::ranks>("ranks", "Processes of the group, in the order of the group."),
        field<&Params::rank>("rank", "Position of this process in `ranks`."));

    static TensorSpecs infer(const Params&, Specs);
    static Tensors gradient(const GradientContext<Params>&);
    MGE_API static const OpInfo info;
};
inline constexpr OpFunction<Collective> collective{};

}  // namespace ops
}  // namespace mge

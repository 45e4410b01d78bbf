// SPDX-License-Identifier: Apache-2.0
#pragma once
// What an operator may say about itself, so that nobody else needs a list of operators. Each fact is an
// optional member of the operator's struct (define.h finds it); without it the operator is treated as one of
// which nothing is known, which is never wrong.
//
//     struct Softmax {
//         // Largest, difference, exponential, sum, quotient.
//         static constexpr PerInputElement operations{5};
//         // The items of a batch are computed apart, unless the axis counts them.
//         static std::optional<ItemsApart> items_apart(const Params& p, std::span<const TensorSpec> in,
//                                                      std::span<const TensorSpec>) {
//             return apart_along_others(p.axis, in[0]);
//         }
//     };
//
// | member          | says                                                             | types in        |
// |-----------------|------------------------------------------------------------------|-----------------|
// | `operations`    | how much arithmetic a run is                                     | footprint.h     |
// | `footprint`     | that and the bytes it moves, for an operator that holds graphs   | footprint.h     |
// | `items_apart`   | that it computes the items of a batch by themselves              | algorithm.h     |
// | `epilogue`      | that it can add a bias and a residual and apply an activation    | here            |
// | `layouts`       | that its kernels know other layouts of images than the plain one | here            |
// | `physical_form` | what it is on tensors in another layout, for kernels that do not | physical_form.h |
// | `autocast`      | in which dtype it belongs where values are stored as f16         | here            |
// | `takes`         | which group of dtypes its inputs and outputs may have            | tensor/dtype.h  |
// | `only_trains`   | that no importable format has it: deployment goes without        | ops/built.h     |

#include <cstdint>
#include <optional>
#include <span>

#include "libmge/kernel/algorithm.h"
#include "libmge/tensor/spec.h"

namespace mge {

// The operator can do more work on its result before it stores it, by its inputs `bias` and `residual` and
// its parameter `activation`: y = activation(op(x, weight) + bias + residual).
struct Epilogue {
    int channel_axis;  // of the output: the axis that bias runs along; negative counts from the end
};

// Which operands kernels take in the layout of the images of a network (bit i: operand i, all from bit 31
// on). The others stay plain.
struct ImageLayouts {
    uint32_t inputs = ~0u, outputs = ~0u;
    bool is_preferred = false;  // so much faster in other layouts that values are brought into one for it
};
inline bool has_operand(uint32_t mask, size_t i) { return mask >> (i < 31 ? i : 31) & 1; }

// In automatic mixed precision, where values are stored as f16.
enum class Autocast : uint8_t {
    either,  // as what it reads
    wide,    // on f32: it leaves f16's range, needs the digits, or makes positions
    narrow,  // on f16: a convolution or product, which sums in f32 anyway
};

// Items of a batch, `x` being its input 0, are computed by themselves unless they are what the axis counts.
inline std::optional<ItemsApart> apart_along_others(int64_t axis, const TensorSpec& x) {
    bool is_first = axis == 0 || axis == -x.shape.rank();
    return is_first ? std::nullopt : std::optional(ItemsApart{});
}
// As an operator's `items_apart`: whatever its parameters are.
struct AlwaysApart {
    ItemsApart items{};
    std::optional<ItemsApart> operator()(const auto&, std::span<const TensorSpec>,
                                         std::span<const TensorSpec>) const {
        return items;
    }
};

}  // namespace mge

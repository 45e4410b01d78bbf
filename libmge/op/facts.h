// SPDX-License-Identifier: Apache-2.0
#pragma once
// Facts that operators state about themselves, so that no other code needs a list of operators. Each is an
// optional member of the operator's struct (found by define.h). Defaults are always correct: nothing is known
// about the operator.
//
//     struct Softmax {
//         // Largest, difference, exponential, sum, quotient.
//         static constexpr PerInputElement operations{5};
//         // Batch items are independent, unless the axis is the batch axis.
//         static std::optional<BatchIndependence> batch_independence(
//             const Params& p, Specs in, Specs) {
//             return independent_unless_batch(p.axis, in[0]);
//         }
//     };
//
// | member               | meaning                                                    | defined in      |
// |----------------------|------------------------------------------------------------|-----------------|
// | `operations`         | number of arithmetic operations per run                    | footprint.h     |
// | `footprint`          | operations and bytes, for operators that hold graphs       | footprint.h     |
// | `batch_independence` | batch items are computed independently                     | algorithm.h     |
// | `shapes_of_items`    | output shapes where only a run knows the number of items   | op.h            |
// | `epilogue`           | can add a bias and a residual and apply an activation      | here            |
// | `layouts`            | its kernels support image layouts other than the plain one | here            |
// | `physical_form`      | equivalent computation on plain tensors, for other kernels | physical_form.h |
// | `autocast`           | preferred dtype if values are stored as f16                | here            |
// | `takes`              | the group of dtypes of its inputs and outputs              | tensor/dtype.h  |
// | `only_trains`        | in no importable format, so deployment builds omit it      | ops/built.h     |

#include <cstdint>
#include <optional>

#include "libmge/kernel/algorithm.h"
#include "libmge/tensor/spec.h"

namespace mge {

// The operator can extend its result before storing it, with inputs `bias` and `residual` and parameter
// `activation`: y = activation(op(x, weight) + bias + residual).
struct Epilogue {
    int channel_axis;  // output axis that the bias runs along; negative counts from the end
};

// The operands that kernels accept in the image layout of the network (bit i: operand i; bit 31: all from 31
// on). The others stay plain.
struct ImageLayouts {
    uint32_t inputs = ~0u, outputs = ~0u;
    bool is_preferred = false;  // so much faster in other layouts that values are converted for it
};
inline bool has_operand(uint32_t mask, size_t i) { return mask >> (i < 31 ? i : 31) & 1; }

// The precision of an operator in automatic mixed precision, where values are stored as f16.
enum class Autocast : uint8_t {
    either,  // that of its inputs
    wide,    // f32: it exceeds f16's range, needs the precision, or computes indices
    narrow,  // f16: a convolution or product, which sums in f32 anyway
};

// For operators along one axis of `x`, their input 0: batch items are independent unless it is the batch
// axis.
inline std::optional<BatchIndependence> independent_unless_batch(int64_t axis, const TensorSpec& x) {
    bool is_first = axis == 0 || axis == -x.shape.rank();
    return is_first ? std::nullopt : std::optional(BatchIndependence{});
}
// An operator's `batch_independence` that does not depend on its parameters.
struct AlwaysIndependent {
    BatchIndependence items{};
    std::optional<BatchIndependence> operator()(const auto&, Specs, Specs) const { return items; }
};

}  // namespace mge

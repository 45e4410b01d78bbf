// SPDX-License-Identifier: Apache-2.0
#pragma once
// A FusedProgram as the text of a GPU's kernel.

#include "libmge/kernel/algorithm.h"
#include "libmge/kernel/cuda/fused.h"
#include "libmge/ops/elementwise/fused.h"

namespace mge::ops {

// How a kernel reads an input.
enum class FusedRead : uint8_t {
    along,  // one element for each of the result, in its order
    once,   // one element for all
    looped  // along some axes only, or by other strides
};

// Where the elements of the inputs lie, for a result of this shape.
struct FusedReads {
    std::vector<FusedRead> reads;
    cuda::FusedArguments arguments{};  // without addresses
};
FusedReads fused_reads(std::span<const TensorSpec> inputs, const TensorSpec& output);

// Whether text can be made of a program with such operands.
Support supports_fused_text(const FusedProgram& program, const TensorSpecs& registers);

// The text, whose kernel is called "fused", and how many elements it takes at once.
struct FusedText {
    std::string text;
    int pack = 1;
};
// `registers`: the specs of the program's registers.
FusedText fused_text(const FusedProgram& program, const TensorSpecs& registers,
                     std::span<const FusedRead> reads);

}  // namespace mge::ops

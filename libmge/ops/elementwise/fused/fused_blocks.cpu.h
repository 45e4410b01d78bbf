// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a FusedProgram runs on the CPU: block by block, each step by the row function of its operator's own
// fast algorithm, on registers of one block each that stay in the first-level cache. So it gives the same
// bits as its operators one by one. Inputs of the result's size and order are read in place; inputs that are
// broadcast or transposed are copied into a register block by block; scalars stay scalars.

#include "libmge/kernel/cpu/rows/rows.h"
#include "libmge/ops/elementwise/fused/fused.h"

namespace mge::ops {

inline constexpr int64_t fused_block = 1024;  // elements; 4 KB per f32 register

class BlockProgram {
public:
    static Support supports(const Problem& p, const FusedProgram& program);
    // `p` has the program's inputs.
    BlockProgram(const Problem& p, const FusedProgram& program);

    const TensorSpec& result() const { return result_; }
    int64_t steps() const { return int64_t(steps_.size()); }
    // Memory that each part of the threads needs for its registers.
    size_t scratch_bytes() const;
    // Elements [begin, begin + n) of the result into `to`; n is at most fused_block.
    void run(std::span<const void* const> inputs, int64_t begin, int64_t n, char* scratch, char* to) const;

private:
    class Builder;
    // The location of a register's values while a block is computed.
    enum class Place : uint8_t { whole_input, scalar_input, copied_input, constant, slot, result };
    struct Register {
        Place place = Place::slot;
        int index = 0;  // index of the input or the constant
        int slot = 0;   // slot of steps and copied inputs
        int64_t element = 4;
        bool is_scalar = false;
        LoopNest nest;  // for copied inputs: where the elements are
    };
    struct Step {
        cpu::ElementwiseState kernel;
        std::vector<int> operands;
        int result = 0;
    };

    TensorSpec result_;
    std::vector<Register> registers_;
    std::vector<Step> steps_;
    std::vector<std::array<char, 8>> constants_;
    int slots_ = 0;
};

// One operator after the other, by their own references; only for the reference of a fused operator.
class ReferenceProgram {
public:
    ReferenceProgram(const Problem& p, const FusedProgram& program);
    const TensorSpec& result() const { return specs_.back(); }
    std::vector<char> run(std::span<const void* const> inputs) const;

private:
    struct Step {
        const Algorithm* algorithm;
        Prepared prepared;
        std::vector<int> operands;
    };
    TensorSpecs specs_;
    std::vector<Step> steps_;  // one per register behind the inputs; constants have no algorithm
    std::vector<std::array<char, 8>> constants_;
};

}  // namespace mge::ops

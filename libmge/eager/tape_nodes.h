// SPDX-License-Identifier: Apache-2.0
#pragma once
// The nodes of a thread's tapes in order of application, numbered consecutively.

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "libmge/eager/tape.h"
#include "libmge/op/op.h"

namespace mge {

// An applied operator, a custom computation (null op, `custom` set), a handle made by Tape::attach (both
// null; one input if another tape followed the value), or further outputs of an earlier node (`continues`
// set).
struct TapeNode {
    const OpInfo* op = nullptr;
    uint64_t tapes = 0;  // one bit per tape that has this node; 0: freed
    std::shared_ptr<const void> params;
    std::shared_ptr<CustomGradient> custom;
    uint32_t input_count = 0, output_count = 0;
    uint32_t grad_count = 1;    // outputs that can receive gradients; custom computations store no outputs
    uint32_t continues = 0;     // distance to the node whose outputs these are; 0: none
    std::array<Tensor, 3> few;  // inputs, then outputs
    std::vector<Tensor> many;   // replaces `few` if there are more

    std::span<Tensor> tensors() {
        return many.empty() ? std::span(few.data(), size_t(input_count) + output_count) : std::span(many);
    }
    std::span<Tensor> inputs() { return tensors().first(input_count); }
    std::span<Tensor> outputs() { return tensors().subspan(input_count); }
    void set_tensors(std::span<const Tensor> inputs, std::span<const Tensor> outputs);
    void forget();
};

class TapeNodes {
public:
    TapeNode& push();
    TapeNode& operator[](uint64_t number) {
        uint64_t at = number - first_;
        return (*chunks_[at / chunk_size])[at % chunk_size];
    }
    uint64_t first() const { return first_; }
    uint64_t next() const { return next_; }
    // Reuses the memory of freed nodes at the front.
    void trim();
    void begin_at(uint64_t number) { first_ = next_ = number; }

private:
    static constexpr uint64_t chunk_size = 128;
    using Chunk = std::array<TapeNode, chunk_size>;
    std::deque<std::unique_ptr<Chunk>> chunks_;
    std::vector<std::unique_ptr<Chunk>> free_;
    uint64_t first_ = 0, next_ = 0;  // first_: number of the first node of the first chunk
};

}  // namespace mge

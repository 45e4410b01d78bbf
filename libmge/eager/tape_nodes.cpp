// SPDX-License-Identifier: Apache-2.0
#include "libmge/eager/tape_nodes.h"

#include <algorithm>

namespace mge {

void TapeNode::set_tensors(std::span<const Tensor> inputs, std::span<const Tensor> outputs) {
    input_count = uint32_t(inputs.size());
    output_count = uint32_t(outputs.size());
    if (inputs.size() + outputs.size() > few.size()) many.resize(inputs.size() + outputs.size());
    auto target = tensors();
    for (size_t i = 0; i < inputs.size(); ++i) target[i] = inputs[i];
    for (size_t i = 0; i < outputs.size(); ++i) target[inputs.size() + i] = outputs[i];
}

void TapeNode::forget() {
    tapes = 0;
    for (Tensor& tensor : few) tensor = {};
    if (!many.empty()) many = {};
    params.reset();
    custom.reset();
    op = nullptr;
    input_count = output_count = continues = 0;
}

TapeNode& TapeNodes::push() {
    uint64_t at = next_ - first_;
    if (at == chunks_.size() * chunk_size) {
        if (free_.empty()) free_.push_back(std::make_unique<Chunk>());
        chunks_.push_back(std::move(free_.back()));
        free_.pop_back();
    }
    ++next_;
    return (*chunks_[at / chunk_size])[at % chunk_size];
}

void TapeNodes::trim() {
    constexpr size_t kept_chunks = 16;
    while (first_ < next_) {
        uint64_t used = std::min(chunk_size, next_ - first_);
        for (uint64_t i = 0; i < used; ++i)
            if ((*chunks_.front())[i].tapes) return;
        if (used < chunk_size) {
            // The last chunk is partly used, and its nodes are freed: continue after them.
            first_ = next_;
            if (free_.size() < kept_chunks) free_.push_back(std::move(chunks_.front()));
            chunks_.pop_front();
            return;
        }
        first_ += chunk_size;
        if (free_.size() < kept_chunks) free_.push_back(std::move(chunks_.front()));
        chunks_.pop_front();
    }
}

}  // namespace mge

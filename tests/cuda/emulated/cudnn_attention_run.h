// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention and its gradient in the emulated cuDNN: operations that end in stored tensors, done one after the
// other by their definitions. It takes graphs of the two forms that the real one has engines for, of the same
// operations in the same order.

#include <map>
#include <optional>
#include <vector>

#include "tests/cuda/emulated/cudnn_descriptor.h"

namespace mge::cuda::emulated {

struct AttentionPattern {
    bool is_backward = false;
    std::vector<const Descriptor*> operations;
    std::vector<const Descriptor*> read, written, values;  // the stored ones; the host's numbers
};
std::optional<AttentionPattern> attention_of(const Descriptor& graph);

// Addresses by the tensors' ids; those of values are the host's.
using Numbers = std::map<int64_t, double>;
Numbers read_values(const AttentionPattern& pattern, const std::map<int64_t, void*>& addresses);
void run_attention(const AttentionPattern& pattern, const std::map<int64_t, void*>& addresses,
                   const Numbers& values);

}  // namespace mge::cuda::emulated

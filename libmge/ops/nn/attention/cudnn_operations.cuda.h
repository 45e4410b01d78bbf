// SPDX-License-Identifier: Apache-2.0
#pragma once
// Attention and its gradient as operation graphs of cuDNN's, in the forms that it has engines for: these take
// all operations together and never store a score. Nothing here needs a GPU.

#include <cstdint>

#include "libmge/kernel/attention_shape.h"
#include "libmge/kernel/cuda/cudnn/cudnn_graph.h"
#include "libmge/tensor/dtype.h"

namespace mge::ops {

// Numbers of the tensors in the graphs. The last are numbers in the host's memory: the scale, what a hidden
// score becomes, one, and how many keys and queries there are.
struct AttentionTensor {
    enum Id : int64_t {
        q,
        k,
        v,
        y,
        log_sum_exp,
        dy,
        dq,
        dk,
        dv,
        dq_sums,  // as floats, like the next
        rest,     // Σ dy·y of each query
        scale,
        hidden,
        one,
        keys,
        queries,
        first_between
    };
};

// For f16 or bf16; without a mask. If causal, each query sees a key.
cuda::CudnnDescriptor attention_graph(const AttentionShape& shape, DType dtype,
                                      const cuda::CudnnTarget& target);
cuda::CudnnDescriptor attention_backward_graph(const AttentionShape& shape, DType dtype,
                                               const cuda::CudnnTarget& target);

// Whether the graphs have dims that they name: the keys and queries.
constexpr bool counts_from_the_last(const AttentionShape& s) { return s.is_causal && s.first_visible != 1; }

}  // namespace mge::ops

// SPDX-License-Identifier: Apache-2.0
#pragma once
// The operation graphs that the emulated cuDNN supports, and their computation by the definition.

#include <map>
#include <optional>
#include <vector>

#include "tests/cuda/emulated/cudnn_descriptor.h"

namespace mge::cuda::emulated {

// A convolution or one of its gradients, then an addition of an image, of a bias, and relu. Nullopt: no
// engine knows the graph. As the real one does, it wants a bias where anything follows, and the image before
// it.
struct ConvolutionPattern {
    const Descriptor *operation = nullptr, *z = nullptr, *bias = nullptr;
    bool has_relu = false, keeps_nan = false, is_channels_last = false;
    cudnnDataType_t type{};
    const Descriptor* result = nullptr;     // the stored tensor
    std::vector<const Descriptor*> stored;  // all tensors that are no intermediate ones
};
std::optional<ConvolutionPattern> pattern_of(const Descriptor& graph);

// Addresses by the tensors' ids. With `in_tf32` the factors lose what TF32 does not hold.
void run_pattern(const ConvolutionPattern& pattern, const std::map<int64_t, void*>& addresses, bool in_tf32);

}  // namespace mge::cuda::emulated

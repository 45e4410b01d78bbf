// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inputs and outputs of a network, which the user fills and reads.

#include <memory>
#include <string>
#include <vector>

#include "libmge/compile/run/context_memory.h"
#include "libmge/graph/graph.h"
#include "libmge/lite/tensor_impl.h"
#include "lite/network.h"

namespace lite {

struct Input {
    IO io{};
    mge::DType dtype = mge::DType::none;
    // The tensor that runs read. For a discrete input, the concatenated images, which only the network sees.
    std::shared_ptr<Tensor> tensor{};
    std::vector<std::shared_ptr<Tensor>> images{};  // images of a discrete input; otherwise empty

    bool is_scalar = false;

    bool is_discrete() const { return !images.empty(); }
    bool has_layout() const { return TensorHelper::impl(*tensor).layout().ndim > 0; }
    // The current spec of the tensor. Error if it has no layout, or another element type than the model's.
    mge::TensorSpec spec() const;
    // For a discrete input: makes the tensor as large as its images together. Error if they differ.
    void shape_images();
    // Copies the images behind each other.
    void join_images();
};

struct Output {
    IO io;
    size_t index = 0;  // among the outputs of the model
    std::shared_ptr<Tensor> tensor;
};

// Settings of a network that determine its tensors.
struct PortOptions {
    mge::DeviceId device;
    LiteDeviceType device_type = LITE_CPU;
    std::shared_ptr<mge::ContextAllocator> allocator;  // null: the queues'
    std::string discrete_input;
    bool configured_outputs_only = false;
};

// All inputs of the model in order, configured by `io` or by default. Names that are not inputs of the model
// are ignored, with a line in the log. Error for a duplicate name.
std::vector<Input> make_inputs(const mge::Graph& graph, const NetworkIO& io, const PortOptions& options);
// With `configured_outputs_only`, only those in `io`; Error if there are none.
std::vector<Output> make_outputs(const mge::Graph& graph, const NetworkIO& io, const PortOptions& options);
// The values of the graph that these outputs return.
std::vector<mge::ValueId> ids_of(const mge::Graph& graph, const std::vector<Output>& outputs);

// A tensor whose memory comes from the allocator.
std::shared_ptr<Tensor> make_tensor(mge::DeviceId device, bool is_pinned,
                                    const std::shared_ptr<mge::ContextAllocator>& allocator);

}  // namespace lite

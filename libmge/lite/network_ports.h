// SPDX-License-Identifier: Apache-2.0
#pragma once
// The inputs and outputs of a network: what the user fills and reads.

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
    // What runs read. Of a discrete input the images behind each other, which only the network sees.
    std::shared_ptr<Tensor> tensor{};
    std::vector<std::shared_ptr<Tensor>> images{};  // of a discrete input; else none

    bool is_scalar = false;

    bool is_discrete() const { return !images.empty(); }
    bool has_layout() const { return TensorHelper::impl(*tensor).layout().ndim > 0; }
    // What the tensor is now. Error when it has no layout, or another type of elements than the model's.
    mge::TensorSpec spec() const;
    // Of a discrete input: the tensor is as large as its images together. Error when they are not alike.
    void shape_images();
    // Copies the images behind each other.
    void join_images();
};

struct Output {
    IO io;
    size_t index = 0;  // among the outputs of the model
    std::shared_ptr<Tensor> tensor;
};

// What of a network decides how its tensors are made.
struct PortOptions {
    mge::DeviceId device;
    LiteDeviceType device_type = LITE_CPU;
    std::shared_ptr<mge::ContextAllocator> allocator;  // null: the queues'
    std::string discrete_input;
    bool configured_outputs_only = false;
};

// All of the model's, in its order, each as `io` says or as nothing says. What is named there and is none of
// the model's is dropped, with a line in the log. Error for a name that stands there twice.
std::vector<Input> make_inputs(const mge::Graph& graph, const NetworkIO& io, const PortOptions& options);
// With `configured_outputs_only` those alone that `io` names; Error when there are none.
std::vector<Output> make_outputs(const mge::Graph& graph, const NetworkIO& io, const PortOptions& options);

// A tensor whose memory the allocator gives.
std::shared_ptr<Tensor> make_tensor(mge::DeviceId device, bool is_pinned,
                                    const std::shared_ptr<mge::ContextAllocator>& allocator);

}  // namespace lite

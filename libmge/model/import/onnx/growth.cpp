// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/growth.h"

#include <algorithm>

#include "libmge/model/import/onnx/other_extents.h"

namespace mge::onnx {
namespace {

// A node and its results, in this run and in those that are followed beside it: about.
constexpr size_t bytes_of_node = 1536;
// An operator of ONNX may become many of ours, and be small in the file.
constexpr size_t largest_growth = 10, growth_slack = size_t(64) << 20;

}  // namespace

Growth::Growth(const ModelRecord& record) {
    size_t bytes = record.model.ByteSizeLong();
    for (auto& weight : record.initializers) bytes += weight.raw.size() + weight.tensor.ByteSizeLong();
    limit_ = growth_slack + largest_growth * bytes;
}

Growth::Mark Growth::mark(const GraphBuilder& builder) const {
    return {builder.graph().nodes().size(), builder.graph().values().size(), bytes_};
}

bool Growth::add(const GraphBuilder& builder, const Mark& since) {
    auto& graph = builder.graph();
    size_t own = (graph.nodes().size() - since.nodes) * bytes_of_node;
    for (size_t i = since.values; i < graph.values().size(); ++i) {
        auto& value = graph.value(ValueId(i));
        if (value.is_constant())
            own += counted_.insert(value.constant.address()).second ? value.spec.bytes() : 0;
        else if (Tensor known = builder.known_value(ValueId(i)))
            own += known.spec().bytes() * (1 + other_runs);
    }
    // What inner nodes have added to the same graph is counted already.
    bytes_ = since.bytes + std::max(own, bytes_ - since.bytes);
    return bytes_ <= limit_;
}

}  // namespace mge::onnx

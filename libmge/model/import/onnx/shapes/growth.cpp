// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/import/onnx/shapes/growth.h"

#include <algorithm>

namespace mge::onnx {
namespace {

// Approximate size of an operator and of each of its results, with the lists that grow by doubling.
constexpr size_t bytes_of_node = 304, bytes_of_result = 304;
// With its entry in the table of names, and the value there.
constexpr size_t bytes_of_name = 224;

}  // namespace

void Growth::add_name(const std::string& name) { names_ += bytes_of_name + 2 * name.size(); }

Growth::Mark Growth::mark(const GraphBuilder& builder) const {
    return {builder.graph().nodes().size(), builder.graph().values().size(), made_};
}

void Growth::add(const GraphBuilder& builder, const Mark& since) {
    auto& graph = builder.graph();
    size_t own = (graph.nodes().size() - since.nodes) * bytes_of_node +
                 (graph.values().size() - since.values) * bytes_of_result;
    for (size_t i = since.values; i < graph.values().size(); ++i) {
        auto& value = graph.value(ValueId(i));
        if (value.is_constant())
            own += counted_.insert(value.constant.address()).second ? value.spec.bytes() : 0;
        else if (Tensor known = builder.known_value(ValueId(i)))
            own += known.spec().bytes() * 2;  // here and in symbolic inference
    }
    // Additions of inner nodes to the same graph are counted already.
    made_ = since.bytes + std::max(own, made_ - since.bytes);
}

}  // namespace mge::onnx

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What does not depend on the extents that a model leaves open. A model is recorded with some extents; here
// it is followed with others at the same time. What is equal for both is a number of the model's.

#include <optional>
#include <vector>

#include "libmge/graph/builder.h"

namespace mge::onnx {

class OtherExtents {
public:
    explicit OtherExtents(const GraphBuilder& builder) : builder_(builder) {}
    // What an input may be in another run; once for each, before what reads it.
    void add_input(const Tensor& input, const TensorSpec& other);
    // Nullopt: it differs between runs, or only a run can tell.
    std::optional<int64_t> find_extent(const Tensor& t, int axis);
    std::optional<Shape> find_shape(const Tensor& t);
    // A small value that every run has; null: there is none.
    Tensor find_value(const Tensor& t);

private:
    struct Other {
        TensorSpec spec;
        Tensor value;
    };
    // Takes note of the nodes that came since.
    void follow();
    void follow(NodeId id);
    Other other(ValueId id);
    bool is_followed(const Tensor& t) const;

    const GraphBuilder& builder_;
    std::vector<std::optional<Other>> others_;  // by value
    size_t followed_ = 0;
    bool differs_ = false;  // some input does
};

}  // namespace mge::onnx

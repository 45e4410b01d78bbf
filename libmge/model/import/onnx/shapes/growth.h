// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of a file's graph and its parsed form: weights, names, operators, and values that are known before a
// run. With nested unrolled loops, a few bytes could become any number of those.

#include <set>
#include <string>

#include "libmge/graph/builder.h"
#include "libmge/model/import/onnx/wire/record.h"

namespace mge::onnx {

class Growth {
public:
    explicit Growth(const ModelRecord& record) : limit_(record.limit), given_(record.cost) {}
    // A weight of the main graph. Weights in other files do not count in this one's size.
    void add_weight(const Tensor& weight, bool is_external) {
        if (counted_.insert(weight.address()).second && !is_external) given_ += weight.spec().bytes();
    }
    void add_name(const std::string& name);
    // A parsed node that is kept.
    void add_waiting(const file::NodeProto& node) { made_ += sizeof(node) + 4 * node.ByteSizeLong(); }
    // Names of an inner graph are removed at its end.
    size_t names() const { return names_; }
    void set_names(size_t bytes) { names_ = bytes; }

    // The state of a graph before an addition.
    struct Mark {
        size_t nodes, values, bytes;
    };
    Mark mark(const GraphBuilder& builder) const;
    // Counts the additions since the mark, including those of inner graphs.
    void add(const GraphBuilder& builder, const Mark& since);
    // Everything exceeds the limit for a file of this size; the argument is the memory of symbolic inference.
    bool is_over(size_t inferred) const { return given_ + names_ + made_ + inferred > limit_; }
    size_t limit() const { return limit_; }
    size_t made() const { return names_ + made_; }

private:
    size_t limit_, given_, names_ = 0, made_ = 0;
    std::set<const void*> counted_;  // constants
};

}  // namespace mge::onnx

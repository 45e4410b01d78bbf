// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the graphs take in memory that are made of a file. Where loops are written out, each within another, a
// few bytes could become any number of operators, and values that are known ahead of a run.

#include <set>

#include "libmge/graph/builder.h"
#include "libmge/model/import/onnx/record.h"

namespace mge::onnx {

class Growth {
public:
    explicit Growth(const ModelRecord& record);
    // A weight of the main graph, which the file itself holds.
    void add_weight(const Tensor& weight) { counted_.insert(weight.address()); }

    // Where a graph stands before something is added to it.
    struct Mark {
        size_t nodes, values, bytes;
    };
    Mark mark(const GraphBuilder& builder) const;
    // Counts what has been added since, and what inner graphs have got meanwhile. False: that is more than a
    // file of this size may become.
    bool add(const GraphBuilder& builder, const Mark& since);
    size_t limit() const { return limit_; }

private:
    size_t limit_, bytes_ = 0;
    std::set<const void*> counted_;  // constants
};

}  // namespace mge::onnx

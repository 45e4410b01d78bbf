// SPDX-License-Identifier: Apache-2.0
#pragma once
// What is made of a file takes in memory, together with what is parsed of it: weights, names, operators, and
// values that are known ahead of a run. Where loops are written out, each within another, a few bytes could
// become any number of those.

#include <set>
#include <string>

#include "libmge/graph/builder.h"
#include "libmge/model/import/onnx/wire/record.h"

namespace mge::onnx {

class Growth {
public:
    explicit Growth(const ModelRecord& record) : limit_(record.limit), given_(record.cost) {}
    // A weight of the main graph. Those in other files are no part of this one's size.
    void add_weight(const Tensor& weight, bool is_external) {
        if (counted_.insert(weight.address()).second && !is_external) given_ += weight.spec().bytes();
    }
    void add_name(const std::string& name);
    // Those of an inner graph are forgotten behind it.
    size_t names() const { return names_; }
    void set_names(size_t bytes) { names_ = bytes; }

    // Where a graph stands before something is added to it.
    struct Mark {
        size_t nodes, values, bytes;
    };
    Mark mark(const GraphBuilder& builder) const;
    // Counts what has been added since, and what inner graphs have got meanwhile.
    void add(const GraphBuilder& builder, const Mark& since);
    // All is more than a file of this size may become; so much is known of other runs.
    bool is_over(size_t known_of_others) const { return given_ + names_ + made_ + known_of_others > limit_; }
    size_t limit() const { return limit_; }
    size_t made() const { return names_ + made_; }

private:
    size_t limit_, given_, names_ = 0, made_ = 0;
    std::set<const void*> counted_;  // constants
};

}  // namespace mge::onnx

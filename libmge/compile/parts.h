// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph that runs in parts, one after the other: each computes some values of the graph and goes on with
// what the parts before it have left.
//
//     PartedExecutable parts(graph, {{features}, {loss}}, {});
//     Tensors seen = parts.run(0, {{"x", x}});     // may be looked at
//     Tensors last = parts.run(1, {{"target", t}});

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libmge/compile/program.h"

namespace mge {

class MGE_API PartedExecutable {
public:
    // By part, the values that it computes. Operators that no part needs are omitted, except effects: each is
    // in the first part that computes a later value, otherwise in the last. UserError for values that do not
    // exist, and for options that fix or omit runs.
    PartedExecutable(const Graph& graph, const std::vector<std::vector<ValueId>>& parts,
                     const CompileOptions& options);
    ~PartedExecutable();
    size_t size() const;
    // The graph's inputs that a part reads itself, by name.
    const std::vector<std::string>& inputs(size_t part) const;
    // Parts run in their order; part 0 may begin again at any time, and forgets what the others have left. A
    // value that goes from part to part is given up after its last one. UserError for another order, and for
    // inputs that are missing or not the part's.
    Tensors run(size_t part, const std::map<std::string, Tensor>& inputs);
    // Bytes of values that wait for later parts.
    size_t waiting_bytes() const;

private:
    struct Part;
    std::vector<std::unique_ptr<Part>> parts_;
    std::map<ValueId, Tensor> waiting_;
    size_t next_ = 0;
};

}  // namespace mge

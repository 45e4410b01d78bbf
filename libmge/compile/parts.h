// SPDX-License-Identifier: Apache-2.0
#pragma once
// A graph that runs in parts, one after the other. Each part computes some values of the graph from the
// inputs and from the values of earlier parts.
//
//     PartedExecutable parts(graph, {{features}, {loss}}, {});
//     Tensors seen = parts.run(0, {{"x", x}});  // the caller may look at them
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
    // Runs a part and returns its values. Parts run in their order; part 0 may run at any time and drops the
    // values of the others. A value that crosses parts is freed after its last reader. Throws UserError for
    // another order, and for inputs that are missing or belong to other parts.
    Tensors run(size_t part, const std::map<std::string, Tensor>& inputs);
    // Returns the bytes of values that wait for later parts.
    size_t waiting_bytes() const;

private:
    struct Part;
    std::vector<std::unique_ptr<Part>> parts_;
    std::map<ValueId, Tensor> waiting_;
    size_t next_ = 0;
};

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
// A part of a model as a model of its own.

#include <vector>

#include "libmge/compile/options/options.h"
#include "libmge/model/model.h"

namespace mge::cli {

struct ModelPart {
    Model model;
    std::vector<ValueId> inputs;  // values of the whole model, by input of the part
};

// Cuts out the operators that compute `to`. Each value of `from` becomes an input; inputs of the whole model
// that the part reads besides follow them. The whole model's names of values are in `names`, by value. Throws
// UserError if the part has no operator, if a value of `from` is not needed, and if its shape is known only
// at run time.
ModelPart cut_part(const Graph& graph, const std::vector<ValueId>& from, const std::vector<ValueId>& to,
                   const std::vector<std::string>& names);

// Runs a graph for these inputs, and returns some of its values on the host.
Tensors values_of(Graph graph, const CompileOptions& options, const Tensors& inputs,
                  const std::vector<ValueId>& wanted);

}  // namespace mge::cli

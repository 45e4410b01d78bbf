// SPDX-License-Identifier: Apache-2.0
#pragma once
// Sizes of open dimensions by name.

#include <string>
#include <vector>

#include "apps/cli/tool.h"
#include "libmge/graph/dimension_sizes.h"

namespace CLI {
class App;
}

namespace mge::cli {

inline constexpr auto dimension_flag = "--dim";

struct DimensionOption {
    std::vector<std::string> given;  // "seq=128"
    bool is_given() const { return !given.empty(); }
    // Throws UsageError for text that is not NAME=SIZE, and for two sizes of one name.
    ExtentValues sizes() const;
    // Returns the specs of a graph's inputs with these sizes. Throws UserError if they do not fit.
    TensorSpecs specs(const Graph& graph) const { return specs_with_sizes(graph, sizes(), dimension_flag); }
    // Throws UserError if shapes of inputs contradict these sizes.
    void require(const Graph& graph, const TensorSpecs& inputs) const {
        if (auto problem = find_contradiction(graph, sizes(), inputs))
            throw_value_error(dimension_flag, *problem);
    }
};

// Defines --dim.
void add_dimension_option(CLI::App& command, DimensionOption& option);

// Returns names, numbers, and null for an open dimension without a name: ["batch", 3, null].
Json dimensions_json(const Shape& shape, const OpenDimensions& dimensions);

}  // namespace mge::cli

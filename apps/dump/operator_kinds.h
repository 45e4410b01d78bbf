// SPDX-License-Identifier: Apache-2.0
#pragma once
// Classes of operators in pictures of graphs, derived from the operators' facts.

#include <array>
#include <string_view>

#include "libmge/graph/graph.h"

namespace mge::dump {

struct Kind {
    std::string_view fill, meaning;
};
// Light fills keep black text readable.
inline constexpr std::array kinds{Kind{"#cfe2ff", "convolutions, products"},
                                  Kind{"#fde2e4", "element by element"},
                                  Kind{"#eee4f7", "moving data"},
                                  Kind{"#ffe5b4", "reductions: pooling, sums"},
                                  Kind{"#d8f3dc", "normalisation: softmax, layer norms"},
                                  Kind{"#f2f2f2", "others"}};

// Returns the index into `kinds`.
size_t kind_of(const Graph& graph, const Node& node);

}  // namespace mge::dump

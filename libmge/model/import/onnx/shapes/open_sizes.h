// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes of open dimensions with which a model is recorded.

#include <span>
#include <vector>

#include "libmge/graph/symbolic/symbol_table.h"

namespace mge::onnx {

// A dimension is a symbol: that of its name, or of its input and axis.
struct OpenSizes {
    int64_t first = 1, others = 8;  // for symbols that are seen on a first axis, mostly a batch, and others
    SymbolTable symbols{};          // with what operators demand of them
    ExtentValues chosen{};          // other sizes by symbol
};

// Returns sizes that meet more of the demands; nullopt if there are none, or if these sizes meet all of them.
std::optional<ExtentValues> better_sizes(std::span<const Guard> demands, const ExtentValues& sizes);

}  // namespace mge::onnx

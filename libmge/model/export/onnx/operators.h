// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our operators in terms of ONNX: one row per operator in operators.cpp, one small function each in the file
// of its family. A function makes nodes and gives the operands that are the operator's results; those that
// nobody reads may be left out.

#include <string_view>

#include "libmge/model/export/onnx/site.h"

namespace mge::to_onnx {

using ExportFunction = Operands (*)(Site&);

struct OperatorRow {
    const OpInfo* op;
    ExportFunction function;
    // The nodes that it becomes; the one for functions that serve several operators.
    std::string_view type;
};

// Null when there is no counterpart.
const OperatorRow* find_operator(const OpInfo& op);

}  // namespace mge::to_onnx

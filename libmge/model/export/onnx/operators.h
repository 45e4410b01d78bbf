// SPDX-License-Identifier: Apache-2.0
#pragma once
// Our operators in terms of ONNX: a small function and a row for each in the *.onnx.cpp file next to the
// operator. A function makes nodes and returns the operands that are the operator's results; unused ones may
// be omitted. Operators without a row have no counterpart in ONNX: gradients, optimizer steps, random
// numbers, effects.

#include <span>
#include <string_view>

#include "libmge/model/export/onnx/site.h"

namespace mge::to_onnx {

using ExportFunction = Operands (*)(Site&);

struct ExportRow {
    const OpInfo* op;
    ExportFunction function;
    // The nodes that it becomes; the one for functions that serve several operators.
    std::string_view type;
};

// A file of rules ends with a function `ExportRows <name>_rows()`. The build collects all of them
// (cmake/list_onnx_rules.cmake); no list names them.
using ExportRows = std::span<const ExportRow>;

// Null if there is no counterpart.
const ExportRow* find_operator(const OpInfo& op);

}  // namespace mge::to_onnx

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "libmge/graph/graph.h"
#include "libmge/kernel/constant_prints.h"

namespace mge {

// Makes further compilations of the graph find its packed constants without reading all constants. Shares
// their memory, also with inner graphs.
MGE_API std::shared_ptr<const ConstantPrints> remember_constants(const Graph& graph);

}  // namespace mge

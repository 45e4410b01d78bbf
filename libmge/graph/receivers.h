// SPDX-License-Identifier: Apache-2.0
#pragma once
// The uses of a value of a graph, by kind.

#include <string>

#include "libmge/graph/graph.h"

namespace mge {

struct MGE_API Receivers {
    int outputs = 0;         // number of graph outputs that are the value
    int values = 0;          // nodes that read its elements on its device
    NodeId last_value = -1;  // the last node counted in `values`; -1: none
    int shapes = 0;          // nodes that read only dtype and shape
    int hosts = 0;           // nodes whose output shapes depend on its elements, read on the host
    bool is_empty() const { return outputs + values + shapes + hosts == 0; }
    // True if its elements are needed on its device.
    bool value_needed() const { return outputs + values > 0; }
    std::string to_string() const;
    bool operator==(const Receivers&) const = default;
};
// Throws UserError for an unknown value.
MGE_API Receivers receivers(const Graph& graph, ValueId id);

}  // namespace mge

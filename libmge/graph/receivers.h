// SPDX-License-Identifier: Apache-2.0
#pragma once
// Who needs a value of a graph, and for what.

#include <string>

#include "libmge/graph/graph.h"

namespace mge {

struct MGE_API Receivers {
    int outputs = 0;         // how often it is an output of the graph
    int values = 0;          // nodes that read its elements where it lies
    NodeId last_value = -1;  // the last of those; -1: none
    int shapes = 0;          // nodes that read dtype and shape alone
    int hosts = 0;           // nodes whose output shapes its elements decide, on the host
    bool is_empty() const { return outputs + values + shapes + hosts == 0; }
    // Somebody wants the elements on its device.
    bool value_needed() const { return outputs + values > 0; }
    std::string to_string() const;
    bool operator==(const Receivers&) const = default;
};
// UserError when there is no such value.
MGE_API Receivers receivers(const Graph& graph, ValueId id);

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>
#include <nanobind/nanobind.h>

#include <map>
#include <string>
#include <vector>

#include "libmge/graph/graph.h"

namespace mge::python {

// Returns a Model with these names. `options` are compile options by name. Unnamed outputs get the names of
// their operators.
nanobind::object model_object(Graph graph, const std::vector<std::string>& input_names,
                              const std::vector<std::string>& output_names,
                              const std::map<std::string, std::string>& metadata,
                              const nanobind::dict& options);

// Adds the classes Trace and Model, and load().
void add_trace(PyObject* module);

}  // namespace mge::python

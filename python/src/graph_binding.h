// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs that people change from Python, and the tensors that stand for their values: operators on such a
// tensor are recorded into its graph.

#include <Python.h>

#include "libmge/op/apply.h"

namespace mge::python {

// What records operators on this value; null: it is none of an open graph.
Interpreter* graph_behind(const Tensor& symbol);

// The first value of an open graph among the inputs; null: there is none.
inline Interpreter* graph_among(std::span<const Tensor> inputs) {
    for (auto& input : inputs)
        if (input && input.is_symbolic()) [[unlikely]]
            if (Interpreter* graph = graph_behind(input)) return graph;
    return nullptr;
}

// Operands as a graph takes them: what lies on the default device lies at the graph's default place.
Tensors operands_for_graph(std::span<const Tensor> operands);

// A new reference to the object for the value; null: it is none of an open graph.
PyObject* object_of_symbol(const Tensor& symbol);

// Lets an object for a value of an open graph stand for another; false: `symbol` is none of an open graph.
bool rebind(PyObject* object, const Tensor& symbol);

// What is known of the value before its graph runs, as long as the graph stays as it is; null: it is none of
// an open graph. UserError when only a run can tell.
const Tensor* value_before_run(const Tensor& symbol);

void add_graphs(PyObject* module);

}  // namespace mge::python

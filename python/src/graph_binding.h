// SPDX-License-Identifier: Apache-2.0
#pragma once
// Graphs that Python code edits, and tensors for their values: operators on such a tensor are recorded into
// its graph.

#include <Python.h>

#include "libmge/op/apply.h"

namespace mge::python {

// Returns the interpreter of the open graph that the value belongs to, or nullptr.
Interpreter* graph_of_symbol(const Tensor& symbol);

// Returns the interpreter of the first input that is a value of an open graph, or nullptr.
inline Interpreter* graph_among(std::span<const Tensor> inputs) {
    for (auto& input : inputs)
        if (input && input.is_symbolic()) [[unlikely]]
            if (Interpreter* graph = graph_of_symbol(input)) return graph;
    return nullptr;
}

// Moves operands from the default device to the graph's default device.
Tensors operands_for_graph(std::span<const Tensor> operands);

// Returns a new reference to the object for a value of an open graph, or nullptr.
PyObject* object_of_symbol(const Tensor& symbol);

// Makes the object of an open graph's value stand for another value. Returns false if `symbol` is not a value
// of an open graph.
bool rebind(PyObject* object, const Tensor& symbol);

// Returns the value if it is known before a run; valid until the graph changes. Returns nullptr if `symbol`
// is not a value of an open graph. Throws UserError if the value is known only at run time.
const Tensor* value_before_run(const Tensor& symbol);

void add_graphs(PyObject* module);

}  // namespace mge::python

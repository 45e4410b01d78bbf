// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python functions recorded as graphs that operators hold.

#include <Python.h>

#include <cstdint>

#include "libmge/base/reflect.h"

namespace mge::python {

// The number of functions being recorded as graphs, on all threads. Guarded by the GIL.
extern constinit int running_captures;
// Returns the number of the innermost recording on this thread, or 0.
uint32_t innermost_capture();

// Results of operators get no gradient while such an object exists, in the recording of a function on this
// thread in which it was made. Without effect outside of recordings.
class CapturedConstants {
public:
    CapturedConstants();
    ~CapturedConstants();
    CapturedConstants(const CapturedConstants&) = delete;
    CapturedConstants& operator=(const CapturedConstants&) = delete;

private:
    uint32_t before_;
};
bool captures_constants();

// Call before a tensor object gets another value in a recording. An object that existed before gets its old
// value back when the recording ends, and the operator must return the new one.
void note_change(PyObject* tensor);

// Call when an operator reads a tensor object in a recording. The graph captures the object, whose value may
// have changed when the graph runs.
void note_use(PyObject* tensor);

// Call after note_change() if the new value is only a new handle from a tape.
void note_attached(PyObject* tensor);

// Call before a tensor object gets another gradient in a recording.
void note_grad(PyObject* tensor);

// Adds the class `Subgraph` and the functions that record Python functions as such.
void add_subgraphs(PyObject* module);

// Returns the graph of a Subgraph object; null for any other object.
SubgraphRef subgraph_of(PyObject* object);

}  // namespace mge::python

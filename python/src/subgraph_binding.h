// SPDX-License-Identifier: Apache-2.0
#pragma once
// Python functions recorded as graphs that operators hold.

#include <Python.h>

#include <cstdint>

#include "libmge/base/reflect.h"

namespace mge::python {

// How many functions are being recorded as graphs, on all threads; guarded by Python's lock.
extern constinit int running_captures;
// The innermost recording on this thread; 0: there is none.
uint32_t innermost_capture();

// A tensor object is about to get another value in a recording. One that was there before is given its value
// back when the recording ends, and the operator has to hand the new one out.
void note_change(PyObject* tensor);

// An operator reads a tensor object in a recording: what the graph captures is told as the object whose value
// it is, which may have another one when the graph runs.
void note_use(PyObject* tensor);

// A tape has given it a new handle, after note_change.
void note_attached(PyObject* tensor);

// It is about to get another gradient in a recording.
void note_grad(PyObject* tensor);

// The class `Subgraph` and the functions that make them of Python functions.
void add_subgraphs(PyObject* module);

// The graph of a Subgraph object; null for any other object.
SubgraphRef subgraph_of(PyObject* object);

}  // namespace mge::python

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

#include <optional>

#include "libmge/tensor/device_id.h"

namespace mge::python {

// A new reference to the Device object of an id; equal to strings that name it in its own spelling.
PyObject* device_object(DeviceId id);
// nullopt when `object` is no Device.
std::optional<DeviceId> id_of_device_object(PyObject* object);

void add_device_type(PyObject* module);
// Default device, memory figures, threads.
void add_device_functions(PyObject* module);

}  // namespace mge::python

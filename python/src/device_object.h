// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <Python.h>

#include <optional>

#include "libmge/tensor/device_id.h"

namespace mge::python {

// Returns a new reference to the Device object of an id. It equals strings that name the device in the same
// spelling.
PyObject* device_object(DeviceId id);
// Returns nullopt if `object` is not a Device.
std::optional<DeviceId> id_of_device_object(PyObject* object);

void add_device_type(PyObject* module);
// Adds functions for the default device, memory statistics and threads.
void add_device_functions(PyObject* module);

}  // namespace mge::python

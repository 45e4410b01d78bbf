// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/tensor/device_id.h"

namespace CLI {
class App;
}

namespace mge::cli {

// Defines --device. `what` starts its description: "Run". add_operator_libraries() provides libraries with
// devices.
void add_device_option(CLI::App& command, std::string& device, const std::string& what);
// Returns the device of that name, or the first CPU for an empty name. Throws UserError or DeviceError in the
// name of `option`. Libraries that provide devices must be loaded before.
DeviceId device_of(const std::string& name, const char* option = "--device");

}  // namespace mge::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "libmge/tensor/device_id.h"

namespace CLI {
class App;
}

namespace mge::cli {

// Defines --device; `what` is done there: "Run". Libraries with devices come by add_operator_libraries().
void add_device_option(CLI::App& command, std::string& device, const std::string& what);
// The place of that name, the first CPU when it is empty. UserError or DeviceError, of that option, when
// there is none. Libraries may bring devices: load them first.
DeviceId device_of(const std::string& name, const char* option = "--device");

}  // namespace mge::cli

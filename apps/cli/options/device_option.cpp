// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/device_option.h"

#include <CLI/CLI.hpp>

#include "libmge/base/error.h"
#include "libmge/device/device.h"

namespace mge::cli {

void add_device_option(CLI::App& command, std::string& device, const std::string& what) {
    command
        .add_option("--device", device,
                    what +
                        " there: cpu0, cpu1, gpu0, ..., or a device of a library that --c-opr-lib names "
                        "(cpu0)")
        ->type_name("DEVICE");
}

DeviceId device_of(const std::string& name, const char* option) {
    if (name.empty()) return host_device;
    try {
        return parse_device(name);
    } catch (const DeviceError& e) {
        throw DeviceError(text('[', option, "] ", e.what()));
    } catch (const UserError& e) {
        throw_value_error(option, e.what());
    }
}

}  // namespace mge::cli

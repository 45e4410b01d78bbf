// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/device/default_device.h"

namespace mge {

// For the life of the scope, operators without operands that this thread applies eagerly return host tensors.
// Used by file readers, whose constants are on the host whatever the default device is.
class OnHost {
private:
    DefaultDevice host_{host_device};
};

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/device/default_device.h"

namespace mge {

// For the life of the scope, operators without operands that this thread applies at once give their results
// on the host. For readers of files: their constants are there, whatever the default device is.
class OnHost {
private:
    DefaultDevice host_{host_device};
};

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/sharing.h"

namespace mge {

// Here, so that all libraries mean the same type.
SharingDevice::~SharingDevice() = default;

}  // namespace mge

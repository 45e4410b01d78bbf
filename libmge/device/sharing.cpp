// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/sharing.h"

namespace mge {

// Defined here, so that all libraries share one type_info.
SharingDevice::~SharingDevice() = default;

}  // namespace mge

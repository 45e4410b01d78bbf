// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/device/device.h"

namespace mge {

// A queue of each device's own, for copies beside the work of the others; the last one that a name can say.
inline constexpr uint8_t copies_stream = 255;

// A new tensor at a place, with what a host tensor holds, for work that comes later: unlike
// tensor_from_host's, the copy waits for nothing that was asked of the place's queue before, which only waits
// for the copy. The memory is the copies' queue's; nobody writes there.
MGE_API Tensor upload_beside(const Tensor& host, DeviceId id);

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/device/device.h"

namespace mge::cuda {

Device& open_device(int index);

}  // namespace mge::cuda

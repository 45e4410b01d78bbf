// SPDX-License-Identifier: Apache-2.0
#pragma once
// Devices of Lite and places of the engine.

#include <cstddef>
#include <string>

#include "libmge/base/api.h"
#include "libmge/tensor/device_id.h"
#include "lite/common_enum_c.h"

namespace lite {

// "CPU"; an Error for a number that is no LiteDeviceType.
std::string name_of(LiteDeviceType type);
// Error for a number that is no LiteBackend.
void require_backend(LiteBackend backend);
// LITE_DEVICE_DEFAULT is the CPU, id -1 is 0. Error: the device is not there, or this build knows nothing of
// its kind; it says why and what there is.
mge::DeviceId device_of(LiteDeviceType type, int id, int stream = 0);
LiteDeviceType device_type_of(mge::DeviceId device);
// How many of them can be used; 0 for a kind that this build knows nothing of.
size_t device_count(LiteDeviceType type);

// From now on LITE_CUDA means devices of this kind ("gpu" otherwise), which has been added. For tests.
MGE_API void let_cuda_mean(std::string kind);

}  // namespace lite

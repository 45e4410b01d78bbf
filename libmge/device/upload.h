// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/device/device.h"

namespace mge {

// Stream number of each device's queue for overlapping copies: the last number that a device name can hold.
inline constexpr uint8_t copies_stream = 255;

// Copies a host tensor to a device while the device works. Unlike with tensor_from_host(), the copy does not
// wait for the device's queue; later work of that queue waits for the copy. The result's memory belongs to
// the copy queue and must not be written to.
MGE_API Tensor upload_overlapped(const Tensor& host, DeviceId id);

}  // namespace mge

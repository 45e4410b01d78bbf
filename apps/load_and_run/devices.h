// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "apps/load_and_run/job.h"

namespace mge::load_and_run {

// Stages. --list-devices: prints them and ends; --require-device: DeviceError when it is not there.
void list_devices(Job& job);
void require_device(Job& job);

}  // namespace mge::load_and_run

// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/recording.h"

namespace mge {

// Defined here, so that all libraries share one type_info.
Recording::~Recording() = default;
RecordingQueue::~RecordingQueue() = default;

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/recording.h"

namespace mge {

// Here, so that all libraries mean the same type.
Recording::~Recording() = default;
RecordingQueue::~RecordingQueue() = default;

}  // namespace mge

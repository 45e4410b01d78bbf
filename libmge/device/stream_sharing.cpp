// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/stream_sharing.h"

namespace mge {

// Here, so that all libraries mean the same type.
StreamSharingQueue::~StreamSharingQueue() = default;

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#include "libmge/device/stream_sharing.h"

namespace mge {

// Defined here, so that all libraries share one type_info.
StreamSharingQueue::~StreamSharingQueue() = default;

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <vector>

#include "libmge/device/queue.h"
#include "libmge/kernel/algorithm.h"

namespace mge::ops {

// An operand as the host reads it.
class OnHost {
public:
    OnHost(DeviceId device, const Launch& launch, size_t input, size_t bytes) : data_(launch.inputs[input]) {
        if (device.is_host()) return;
        copy_.resize(bytes);
        launch.queue->copy_to_host(copy_.data(), data_, bytes);
        data_ = copy_.data();
    }
    const void* data() const { return data_; }

private:
    const void* data_;
    std::vector<std::byte> copy_;
};

}  // namespace mge::ops

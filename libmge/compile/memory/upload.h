// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <mutex>
#include <tuple>

#include "libmge/tensor/tensor.h"

namespace mge {

// Copies of constants on devices that cannot read host memory, shared by the programs of an Executable.
// Thread-safe.
class ConstantUploads {
public:
    // Returns the constant in memory that `device` can read: itself if possible.
    Tensor find(const Tensor& constant, DeviceId device);

private:
    struct Upload {
        Tensor host, uploaded;  // holding `host` keeps its address valid as a key
    };
    std::mutex mutex_;
    std::map<std::tuple<const void*, size_t, uint64_t>, Upload> uploads_;
};

}  // namespace mge

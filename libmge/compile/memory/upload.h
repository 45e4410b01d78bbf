// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <mutex>
#include <tuple>

#include "libmge/tensor/tensor.h"

namespace mge {

// Constants in the memory of devices that cannot read the host's, each once: the programs of one Executable
// share them. May be used by several threads.
class ConstantUploads {
public:
    // The constant where `device` can read it: itself, if that is so already.
    Tensor find(const Tensor& constant, DeviceId device);

private:
    struct Upload {
        Tensor host, uploaded;  // the first keeps its address its own
    };
    std::mutex mutex_;
    std::map<std::tuple<const void*, size_t, uint64_t>, Upload> uploads_;
};

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#include "libmge/compile/memory/upload.h"

#include "libmge/device/device.h"

namespace mge {

Tensor ConstantUploads::find(const Tensor& constant, DeviceId device) {
    if (device.is_host() || !constant.device().is_host()) return constant;
    std::lock_guard lock(mutex_);
    auto& upload = uploads_[{constant.address(), constant.spec().bytes(), device.hash()}];
    if (!upload.uploaded) upload = {constant, to_device(constant, device)};
    // Equal bytes may be stored with another shape.
    return Tensor(constant.spec(), upload.uploaded.impl()->storage, upload.uploaded.impl()->offset, device);
}

}  // namespace mge

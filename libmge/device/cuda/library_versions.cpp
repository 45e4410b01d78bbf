// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/error.h"
#include "libmge/device/cuda/cublaslt.h"
#include "libmge/device/cuda/cudnn.h"
#include "libmge/device/cuda/library.h"

namespace mge::cuda {

std::string library_versions() {
    std::string result;
    if (auto& x = cublaslt(); x.why_not.empty()) result += text(", cuBLASLt ", x.version());
    if (auto& x = cudnn(); x.why_not.empty()) result += text(", cuDNN ", x.version());
    return result;
}

int cudnn_version() { return cudnn().why_not.empty() ? int(cudnn().version()) : 0; }

}  // namespace mge::cuda

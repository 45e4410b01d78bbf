// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace mge::cuda {

// A header that device text includes, as it stood in the source tree; made by cmake/embed_text.cmake.
struct DeviceText {
    const char* name;
    const char* text;
};
std::span<const DeviceText> device_texts();

}  // namespace mge::cuda

# SPDX-License-Identifier: Apache-2.0
# Writes libmge/kernel/cuda/device_text.cpp: the headers of device text as strings.
#   cmake -DROOT=source-folder -DOUT=file "-DFILES=a;b" -P embed_text.cmake
set(entries "")
foreach(name IN LISTS FILES)
  file(READ "${ROOT}/${name}" text)
  string(APPEND entries "    {\"${name}\", R\"device_text(${text})device_text\"},\n")
endforeach()
file(CONFIGURE OUTPUT "${OUT}" @ONLY CONTENT [=[
// Made by cmake/embed_text.cmake.
#include "libmge/kernel/cuda/device_text.h"

namespace mge::cuda {

std::span<const DeviceText> device_texts() {
    static constexpr DeviceText all[] = {
@entries@    };
    return all;
}

}  // namespace mge::cuda
]=])

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How the fakes of NVIDIA's libraries ask for work. They are compiled with the headers of the real ones, so
// nothing of the emulated runtime's is named here.

#include <functional>

namespace mge::cuda::emulated {

// `work` may read and write the device's memory; it is done some time, or each time that the graph runs which
// the stream captures. False when the device is lost.
bool enqueue_on_stream(void* stream, std::function<void()> work);

// A test wants them not to be installed (memory.h).
bool are_libraries_hidden();

}  // namespace mge::cuda::emulated

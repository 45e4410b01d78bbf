// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace mge::cuda {

// Remembers the calling thread's WorkOrigin, if it has one, as that of the latest launch.
void note_launch();

// Returns the latest origins of all threads, newest first: candidates for a failed kernel.
std::string last_launches();

}  // namespace mge::cuda

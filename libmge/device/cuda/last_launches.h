// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace mge::cuda {

// Remembers for whom the calling thread has just launched something, if anybody has said so (WorkOrigin).
void note_launch();

// The last of them of all threads, newest first: whose kernel it may have been that went wrong.
std::string last_launches();

}  // namespace mge::cuda

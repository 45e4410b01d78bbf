// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdlib>

namespace mge::test {

// True in qemu-user, for which scripts/arm64 sets the variable.
inline bool runs_in_qemu() { return std::getenv("QEMU_LD_PREFIX") != nullptr; }
inline constexpr const char* qemu_forks = "qemu 7 ends children of programs with threads that start threads";

}  // namespace mge::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mge {

// After so many seconds alarm() ends a child that hangs. One that does not is done in a moment, but on a busy
// machine.
inline constexpr unsigned child_seconds = 300;

}  // namespace mge

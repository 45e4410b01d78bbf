// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lite::c {

// Inside of a catch block: what was thrown becomes the last error of this thread. Gives -1.
int record_failure() noexcept;

}  // namespace lite::c

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lite::c {

// Called inside a catch block: the exception becomes the last error of this thread. Returns -1.
int record_failure() noexcept;

}  // namespace lite::c

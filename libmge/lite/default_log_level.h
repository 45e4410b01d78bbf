// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lite {

// Whatever may log a line says first that Lite is silent but for errors, unless the program or another
// interface of the engine has said otherwise.
void use_default_log_level();

}  // namespace lite

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace lite {

// Called before any line may be logged: Lite only logs errors, unless the program or another interface of the
// engine has set a level.
void use_default_log_level();

}  // namespace lite

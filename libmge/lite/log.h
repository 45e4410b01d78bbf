// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace lite {

// Lines for people on standard error.
void log_info(const std::string& line);
void log_error(const std::string& line);

}  // namespace lite

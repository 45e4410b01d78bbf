// SPDX-License-Identifier: Apache-2.0
#pragma once
// MGE_LOG=dispatch,passes,memory,… turns channels of the log on ("all": every one). Lines go to stderr.

#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

enum class LogChannel { dispatch, passes, memory, fastrun, program };

MGE_API bool log_enabled(LogChannel channel);
MGE_API void log_line(LogChannel channel, const std::string& line);

// Something the user should know although the work goes on; always printed, once per process for equal text.
MGE_API void log_warning(const std::string& line);

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
// MGE_LOG=dispatch,passes,memory,… enables log channels ("all": every one). Other messages have a level.
// Lines go to stderr.

#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

enum class LogChannel { dispatch, passes, memory, fastrun, program };

MGE_API bool log_enabled(LogChannel channel);
MGE_API void log_line(LogChannel channel, const std::string& line);

enum class LogLevel { debug, info, warning, error };

// Lines below the level are not written; at `debug` all channels are enabled. The default is the level of the
// first set_default_log_level(), or `warning`.
MGE_API void set_log_level(LogLevel level);
MGE_API LogLevel log_level();
// For interfaces whose users expect another default. A level that was set is kept.
MGE_API void set_default_log_level(LogLevel level);

MGE_API void log_message(LogLevel level, const std::string& line);
// Something the user should know although the work goes on; once per process for equal text.
MGE_API void log_warning(const std::string& line);

// Called before each line, to remove terminal output that the line would overwrite. Null: no function.
MGE_API void before_log_lines(void (*clear_terminal_line)());

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
// MGE_LOG=dispatch,passes,memory,… turns channels of the log on ("all": every one). All else has a level.
// Lines go to stderr.

#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

enum class LogChannel { dispatch, passes, memory, fastrun, program };

MGE_API bool log_enabled(LogChannel channel);
MGE_API void log_line(LogChannel channel, const std::string& line);

enum class LogLevel { debug, info, warning, error };

// Lines below the level are not written; at `debug` all channels are on. Until it is set it is what
// set_default_log_level() first said, or `warning`.
MGE_API void set_log_level(LogLevel level);
MGE_API LogLevel log_level();
// For interfaces whose users expect another one. A level that was set stays.
MGE_API void set_default_log_level(LogLevel level);

MGE_API void log_message(LogLevel level, const std::string& line);
// Something the user should know although the work goes on; once per process for equal text.
MGE_API void log_warning(const std::string& line);

// Is called before each line: whoever has something on the terminal that the line would run into takes it
// away. Null: nobody.
MGE_API void before_log_lines(void (*make_room)());

}  // namespace mge

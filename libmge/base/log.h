// SPDX-License-Identifier: Apache-2.0
#pragma once
// MGE_LOG=dispatch,passes,memory,… enables log channels ("all": every one). Other messages have a level.
// Lines go to stderr.

#include <string>
#include <string_view>

#include "libmge/base/api.h"

namespace mge {

enum class LogChannel { dispatch, passes, memory, fastrun, program };

// True if MGE_LOG or the level `debug` enables the channel.
MGE_API bool log_enabled(LogChannel channel);
// Writes a line, even if its channel is disabled. All functions here are thread-safe.
MGE_API void log_line(LogChannel channel, const std::string& line);

enum class LogLevel { debug, info, warning, error };

// Lines below the level are not written; at `debug` all channels are enabled. The default is the level of the
// first set_default_log_level(), or `warning`.
MGE_API void set_log_level(LogLevel level);
MGE_API LogLevel log_level();
// Sets the default level of an interface, such as Lite's. Has no effect after set_log_level().
MGE_API void set_default_log_level(LogLevel level);

MGE_API void log_message(LogLevel level, const std::string& line);
// Warns of something that does not stop the work. Equal texts are written once per process.
MGE_API void log_warning(const std::string& line);

// Sets a function that is called before each line, to clear a progress bar on the terminal. nullptr removes
// it.
MGE_API void before_log_lines(void (*clear_terminal_line)());

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#include "libmge/lite/log.h"

#include "libmge/base/log.h"

namespace lite {

void log_info(const std::string& line) {
    if (mge::log_enabled(mge::LogChannel::program)) mge::log_line(mge::LogChannel::program, line);
}
void log_error(const std::string& line) { mge::log_warning(line); }

}  // namespace lite

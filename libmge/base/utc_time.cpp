// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/utc_time.h"

#include <ctime>

namespace mge {

std::string utc_now() {
    std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char buffer[32];
    std::strftime(buffer, sizeof buffer, "%Y-%m-%dT%H:%M:%SZ", &parts);
    return buffer;
}

}  // namespace mge

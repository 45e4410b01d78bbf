// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/threads/start_thread.h"

#include <system_error>
#include <utility>

#include "libmge/base/error.h"

namespace mge {

std::thread start_thread(std::function<void()> work) try {
    return std::thread(std::move(work));
} catch (const std::system_error& e) {
    throw MemoryError(text("the system refuses another thread: ", e.code().message()));
}

}  // namespace mge

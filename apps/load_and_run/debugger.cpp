// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/debugger.h"

#include <unistd.h>

#include <cstdio>

namespace mge::load_and_run {

void wait_for_debugger(Job& job) {
    if (!job.options.run.wait_gdb) return;
    std::printf("wait for gdb attach (pid=%d): ", int(::getpid()));
    std::fflush(stdout);
    std::getchar();
}

}  // namespace mge::load_and_run

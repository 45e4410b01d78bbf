// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace mge {

// The threads of this process that are not at their end. One that was joined may stay in the system's list
// for a moment, marked as exiting: how long is chance.
inline long live_threads() {
    constexpr unsigned long is_exiting = 4;  // PF_EXITING of Linux
    long count = 0;
    for (auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "stat");
        std::string line{std::istreambuf_iterator<char>(file), {}};
        size_t name_end = line.rfind(')');  // the name may hold anything
        char state = 0;
        unsigned long flags = 0;
        bool is_there =
            name_end != std::string::npos &&
            std::sscanf(line.c_str() + name_end + 1, " %c %*d %*d %*d %*d %*d %lu", &state, &flags) == 2;
        count += is_there && !(flags & is_exiting);
    }
    return count;
}

}  // namespace mge

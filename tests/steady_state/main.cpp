// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <iostream>
#include <string_view>

#include "steady_state/child_tasks.h"

namespace {

struct ChildTask {
    std::string_view name;
    int (*run)();
};

constexpr ChildTask child_tasks[] = {
    {"convolution_net", &mge::steady_state::run_convolution_net},
    {"own_kernels", &mge::steady_state::run_own_kernels},
    {"small_gradients", &mge::steady_state::run_small_gradients},
    {"three_calls", &mge::steady_state::make_three_system_calls},
};

int run_child(std::string_view name) {
    for (auto& task : child_tasks)
        if (task.name == name) return task.run();
    std::cerr << "no child task named " << name << '\n';
    return 2;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == "--child") return run_child(argv[2]);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}

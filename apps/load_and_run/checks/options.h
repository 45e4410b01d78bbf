// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace CLI {
class App;
}

namespace mge::load_and_run {

// What is checked and recorded beside the times.
struct CheckOptions {};

void add(CLI::App& app, CheckOptions& options);
void check(const CheckOptions& options);

}  // namespace mge::load_and_run

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mge::cli {

// Marks an option or argument whose value is a file or folder that the tool writes. Returns it.
CLI::Option* written(CLI::Option* option);

// UsageError when two that are marked and were given name the same place: only the later would be there in
// the end. --json may not name a positional argument either, which is what the tool works on.
void refuse_same_outputs(std::span<const CLI::App* const> apps);

}  // namespace mge::cli

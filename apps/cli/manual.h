// SPDX-License-Identifier: Apache-2.0
#pragma once
// What --help and the manual page of a tool say besides its options, once per tool. What holds for all tools
// (the environment, which tools there are) stands in manual.cpp.

#include <span>
#include <string>
#include <vector>

namespace mge::cli {

// A command line and what it does; those of a tool run one after the other.
struct Example {
    std::string command, does;
};

struct Entry {
    std::string name, meaning;
};

struct Manual {
    std::string description;
    std::string footer;  // below the options, shown as it is
    std::vector<Example> examples;
    std::vector<Entry> files;
};

// Variables of the environment that every tool obeys.
std::span<const Entry> environment();
// Names of all tools.
std::span<const std::string> tool_names();

// The examples as --help shows them.
std::string examples_text(const Manual& manual);

}  // namespace mge::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Texts of --help and the manual page of a tool besides its options. Texts that all tools share (environment,
// list of tools) are in manual.cpp.

#include <span>
#include <string>
#include <vector>

namespace mge::cli {

// A command line and its explanation. The examples of a tool can be run in sequence.
struct Example {
    std::string command, does;
};

struct Entry {
    std::string name, meaning;
};

struct Manual {
    std::string description;
    std::string footer;  // printed verbatim below the options
    std::vector<Example> examples;
    std::vector<Entry> files;
    // Options that --help shows if there are too many for it, with a short meaning (empty: the first sentence
    // of the description); --help-all shows all. Empty: --help shows all.
    std::vector<Entry> first_options{};
};

// Environment variables that all tools use.
std::span<const Entry> environment();
// Names of all tools, sorted.
std::span<const char* const> tool_names();

// Formats the examples for --help.
std::string examples_text(const Manual& manual);

}  // namespace mge::cli

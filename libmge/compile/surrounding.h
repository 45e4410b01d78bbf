// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "libmge/compile/options/options.h"

namespace mge {

class Program;

// The part of a program that the graphs of its control operators need while its steps are prepared
// (SelectOptions::around).
struct SurroundingProgram {
    const CompileOptions* options;
    int64_t bytes;  // that the program reads and writes between two runs of the graph
    // Collects the programs of the graphs; null: nobody does. Those that are alive in the end belong to the
    // program.
    std::vector<std::weak_ptr<const Program>>* inside = nullptr;
};

}  // namespace mge

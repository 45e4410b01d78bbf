// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "libmge/compile/options/options.h"

namespace mge {

class Program;

// The part of a program that nested graphs need while its steps are prepared (SelectOptions::around).
struct SurroundingProgram {
    const CompileOptions* options;
    int64_t bytes;  // bytes that the program accesses between two runs of the graph
    // Collects the programs of nested graphs, if not nullptr. Those alive in the end belong to the program.
    std::vector<std::weak_ptr<const Program>>* inside = nullptr;
};

}  // namespace mge

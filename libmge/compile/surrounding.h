// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the graphs that a step holds take over from the program around them. Kernels know nothing of programs,
// so it stands with the thread that prepares the step, or runs it.

#include <memory>
#include <vector>

#include "libmge/compile/arenas.h"
#include "libmge/compile/options.h"

namespace mge {

// Null outside of any program: of an operator that is called by itself.
struct Surrounding {
    const CompileOptions* options = nullptr;  // while a step is prepared
    const Arenas* arenas = nullptr;           // while a step runs
    // While a step is prepared, what the program around reads and writes between two runs of the graph.
    int64_t bytes = 0;
    // While the steps of a program are prepared, who is told of the programs of the graphs that they hold;
    // those that are there in the end are the program's.
    std::vector<std::weak_ptr<const CompiledProgram>>* inside = nullptr;
};
const Surrounding& surrounding();

class SurroundingScope {
public:
    explicit SurroundingScope(const Surrounding& now);
    ~SurroundingScope();
    SurroundingScope(const SurroundingScope&) = delete;

private:
    Surrounding before_;
};

}  // namespace mge

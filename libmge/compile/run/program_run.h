// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace mge {

class Arenas;
class Context;
class StepObserver;

// The run of a program, for the graphs that its steps hold (Launch::run): their programs allocate where it
// does, and report to the same observer.
struct ProgramRun {
    const Arenas* arenas = nullptr;
    Context* context = nullptr;
    StepObserver* observer = nullptr;  // null: the run is not observed
    size_t step = 0;                   // of an observed run
};

}  // namespace mge

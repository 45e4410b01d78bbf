// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace mge {

class Arenas;
class Context;
class StepObserver;

// The run of a program, for graphs nested in its steps (Launch::run): they use its allocator and observer.
struct ProgramRun {
    const Arenas* arenas = nullptr;
    Context* context = nullptr;
    StepObserver* observer = nullptr;  // nullptr: not observed
    size_t step = 0;                   // step of an observed run
};

}  // namespace mge

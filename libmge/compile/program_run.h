// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

namespace mge {

class Arenas;
class Context;
class StepObserver;

// The run of a program, for the graphs that its steps hold: their programs allocate where it does, and report
// to the same observer.
struct ProgramRun {
    const Arenas* arenas = nullptr;
    Context* context = nullptr;
    StepObserver* observer = nullptr;  // null: the run is not observed
    size_t step = 0;                   // of an observed run
};

// The run that this thread is in; null outside of any.
const ProgramRun* program_run();

class ProgramRunScope {
public:
    explicit ProgramRunScope(const ProgramRun* run);
    ~ProgramRunScope();
    ProgramRunScope(const ProgramRunScope&) = delete;
    ProgramRunScope& operator=(const ProgramRunScope&) = delete;

private:
    const ProgramRun* outer_;
};

}  // namespace mge

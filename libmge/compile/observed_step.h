// SPDX-License-Identifier: Apache-2.0
#pragma once
// The step at hand of a run that is observed on this thread, for the graphs that its operator holds: they
// tell the same observer. Runs without an observer know nothing of it.

#include "libmge/compile/program.h"

namespace mge {

struct ObservedStep {
    StepObserver& observer;
    Context& context;
    size_t step;
};

// Null outside of an observed step.
const ObservedStep* observed_step();

class ObservedStepScope {
public:
    explicit ObservedStepScope(const ObservedStep* step);
    ~ObservedStepScope();
    ObservedStepScope(const ObservedStepScope&) = delete;
    ObservedStepScope& operator=(const ObservedStepScope&) = delete;

private:
    const ObservedStep* outer_;
};

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/compile/program.h"

namespace mge {

// Two observers of one run. The inner one stands next to the step, so that what the outer one does is not in
// the times that it takes. There may be no inner one.
class BothObservers final : public StepObserver {
public:
    BothObservers(StepObserver& outer, StepObserver* inner) : outer_(outer), inner_(inner) {}
    void before_step(size_t step, Context& context) override {
        outer_.before_step(step, context);
        if (inner_) inner_->before_step(step, context);
    }
    void after_step(size_t step, Context& context) override {
        if (inner_) inner_->after_step(step, context);
        outer_.after_step(step, context);
    }

private:
    StepObserver& outer_;
    StepObserver* inner_;
};

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
// Observers of the inner graphs of steps: one observer for each inner program. Paths begin with the step:
// "scan#1/body[3]/add#2" is the step add#2 in the fourth iteration.

#include <map>
#include <memory>
#include <string>

#include "libmge/compile/program.h"

namespace mge {

// Returns the prefix of paths inside: "scan#1/body[3]/", or "scan#1/body/" for all iterations.
inline std::string path_inside(const InnerRun& run, bool with_iteration = true) {
    auto& step = run.outer.program().steps()[run.step];
    return text(step.name, '/', graph_text(run.graph, with_iteration ? run.iteration : -1), '/');
}

template <class Observer>
class ObserversInside {
public:
    // Returns the observer for the program of `inner`; the first time it is made by `make(program)`.
    template <class Make>
    Observer& of(const Context& inner, const Make& make) {
        auto program = inner.program().shared_from_this();
        auto& observer = observers_[program];
        if (!observer) observer = make(program);
        return *observer;
    }

private:
    // They keep their programs, so that no other one gets the address.
    std::map<std::shared_ptr<const Program>, std::unique_ptr<Observer>> observers_;
};

}  // namespace mge

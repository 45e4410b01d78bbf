// SPDX-License-Identifier: Apache-2.0
#pragma once
// How observers go into the graphs that steps hold: one of their kind for each program in there, and paths
// that begin with the step: "scan#1/body[3]/add#2" is what the step add#2 does the fourth time round.

#include <map>
#include <memory>
#include <string>

#include "libmge/compile/program.h"

namespace mge {

// "scan#1/body[3]/"; "scan#1/body/" for what holds of every iteration.
inline std::string path_inside(const InnerRun& run, bool with_iteration = true) {
    auto& step = run.outer.program().steps()[run.step];
    return text(step.name, '/', graph_text(run.graph, with_iteration ? run.iteration : -1), '/');
}

template <class Observer>
class ObserversInside {
public:
    // The one for the program of `inner`, which `make(program)` makes at first.
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

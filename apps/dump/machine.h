// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace mge::dump {

// ok: used; limited: there, but not all of it is used; missing: not there, or there and of no use to this
// program.
enum class MachineState { ok, limited, missing };

struct MachineFact {
    std::string name;  // "isa", "threads", …
    MachineState state = MachineState::ok;
    std::string found;    // what there is
    std::string advice;   // what to do; empty when all is well
    bool needed = false;  // the program does not work without it
};

std::vector<MachineFact> examine_machine();

}  // namespace mge::dump

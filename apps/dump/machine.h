// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

namespace mge::dump {

// ok: in use; limited: only partly in use; missing: does not exist, or this program cannot use it.
enum class MachineState { ok, limited, missing };

struct MachineFact {
    std::string name;  // "isa", "threads", …
    MachineState state = MachineState::ok;
    std::string found;    // the state found
    std::string advice;   // the remedy; empty if all is well
    bool needed = false;  // the program does not run without it
};

std::vector<MachineFact> examine_machine();

}  // namespace mge::dump

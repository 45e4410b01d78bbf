// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mge::cpu {

// Limits Highway's run-time choice to what cpu_isa() allows (MGE_ISA). To be called before the first
// dispatch; costs nothing after that.
void limit_highway_targets();

}  // namespace mge::cpu

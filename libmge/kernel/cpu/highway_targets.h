// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace mge::cpu {

// Makes Highway's run-time choice, within what cpu_isa() allows (MGE_ISA). To be called before the first
// dispatch; costs nothing after that. Highway is used by its headers alone: its library measures the
// resolution of a timer when it is loaded, which takes every process 4 ms.
void limit_highway_targets();

}  // namespace mge::cpu

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace mge::cpu {

// Makes Highway's run-time choice, within the limits of cpu_isa() (MGE_ISA). Must be called before the first
// dispatch; costs nothing later. Only Highway's headers are used: its library measures the resolution of a
// timer when it is loaded, which takes every process 4 ms.
void limit_highway_targets();

// Returns the targets of Highway that the processor has and cpu_isa() permits.
int64_t find_highway_targets();

}  // namespace mge::cpu

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/device/device.h"

namespace mge {

// Returns a CPU device. cpu0, cpu1, … share processors and memory, but each has its own allocator and
// statistics.
Device& open_cpu(int index);
// Releases the cached memory of all opened CPU devices.
void release_cached_by_cpus();

// Instruction sets, lowest first. cpu_isa() returns the best one of the machine that MGE_ISA permits.
enum class Isa { sse4, avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16, amx };
MGE_API Isa cpu_isa();
MGE_API std::string_view name_of(Isa isa);
MGE_API std::string cpu_model();

}  // namespace mge

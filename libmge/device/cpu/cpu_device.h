// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/device/device.h"

namespace mge {

// The CPU. cpu0, cpu1, … are the same processors and the same memory, each with an allocator and figures of
// its own.
Device& open_cpu(int index);
// Of those that were opened.
void release_cached_by_cpus();

// The instruction sets a program may use, lowest first; MGE_ISA limits it, else the best the machine has.
enum class Isa { sse4, avx2, avx_vnni, avx512, avx512_vnni, avx512_bf16, amx };
MGE_API Isa cpu_isa();
MGE_API std::string_view name_of(Isa isa);
MGE_API std::string cpu_model();

}  // namespace mge

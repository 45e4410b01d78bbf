// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/device/device.h"

namespace mge {

// Returns a CPU device. cpu0, cpu1, … share processors and memory, but each has its own allocator and
// statistics.
Device& open_cpu(int index);
// Releases the cached memory of all opened CPU devices.
void release_cached_by_cpus();

// Instruction sets of 64-bit Arm and of x86-64, for each of them lowest first. Those of Arm come before the
// others because their vectors have 128 bits, as those of SSE4: code for wider vectors asks for at least one
// of x86-64. cpu_isa() returns the best one of the machine that MGE_ISA permits.
enum class Isa {
    neon,
    neon_dotprod,    // products of four bytes
    neon_fp16,       // and arithmetic in f16
    neon_i8mm_bf16,  // and matrix products of bytes and bf16
    sse4,
    avx2,
    avx_vnni,
    avx512,
    avx512_vnni,
    avx512_bf16,
    amx
};
MGE_API Isa cpu_isa();
MGE_API std::string_view name_of(Isa isa);
MGE_API std::string cpu_model();

}  // namespace mge

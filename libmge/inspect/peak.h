// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "libmge/inspect/profile.h"

namespace mge {

// What this machine can do at best with so many threads: f32 multiply-adds on registers, and bytes moved
// between the cores and a memory larger than the caches. Takes about a third of a second.
MGE_API Peak measure_peak(int threads);

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a device beside the host can do at best, in the arithmetic of a program: a large product of matrices
// by the operators' own kernels, and a copy inside of its memory that is larger than its caches. Both by the
// device's own clock; the best of short runs counts and is kept as those of processors are (peak.h).

#include <optional>

#include "libmge/compile/program.h"
#include "libmge/inspect/profile/profile.h"

namespace mge {

// `options`: by which it was compiled. Takes a part of a second and some hundred MiB of the device's memory.
// Nullopt where these are not there, where the program's steps run on no device or several, where these have
// no clock, or where most of its arithmetic is in integers.
MGE_API std::optional<Peak> measure_device_peak(const Program& program, const CompileOptions& options);

}  // namespace mge

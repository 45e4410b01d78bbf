// SPDX-License-Identifier: Apache-2.0
#pragma once
// Peak performance of a device other than the host, in the arithmetic of a program: a large matrix product by
// the operators' own kernels, and a copy within its memory that exceeds its caches. Both are timed by the
// device's own clock; the best of short runs counts and is stored like those of processors (peak.h).

#include <optional>

#include "libmge/compile/program.h"
#include "libmge/inspect/profile/profile.h"

namespace mge {

// `options`: by which it was compiled. Takes a part of a second and some hundred MiB of the device's memory.
// Nullopt where these are not there, where the program's steps run on no device or several, where these have
// no clock, or where most of its arithmetic is in integers.
MGE_API std::optional<Peak> measure_device_peak(const Program& program, const CompileOptions& options);

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "libmge/compile/program.h"

namespace mge {

struct OptionInfo;

// Options that were given and found nothing to do in this graph, as the passes have left it, or on any
// device. `packed_weights`: bytes that algorithms packed ahead.
std::vector<IgnoredOption> find_ignored_options(const CompileOptions& options, const Graph& compiled,
                                                std::span<const StepReport> steps, size_t packed_weights);

// Why nothing reads an option that says how another one works, whatever its value; nullopt: something does.
MGE_API std::optional<std::string> why_unread(const CompileOptions& options, const OptionInfo& option);

}  // namespace mge

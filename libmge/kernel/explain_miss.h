// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reason why the fast-run cache has no result for a problem.

#include <optional>
#include <span>
#include <string>

#include "libmge/kernel/fastrun_cache.h"

namespace mge {

enum class MissReason {
    damaged,          // its rows are not as they were written
    workspace_limit,  // every algorithm measured needs more memory than allowed
    attribute,        // no measured algorithm has the requested attributes, or the operator's parameters
                      // differ
    library_version,
    machine,  // another CPU or ISA
    threads,
    layout,
    shape,
    absent,
};
MGE_API std::string_view name_of(MissReason reason);

struct Miss {
    MissReason reason = MissReason::absent;
    std::string detail;               // the difference, as a clause
    std::optional<CacheRow> nearest;  // the entry that differs least
};

// Nullopt if the rows contain a result: an intact row of this machine and problem that the options accept.
MGE_API std::optional<Miss> explain_miss(std::span<const CacheRow> rows, const std::string& machine,
                                         const std::string& problem, const SelectOptions& options);

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
// How algorithms are chosen where nobody says it call by call: for operators that run at once, and for what a
// trace compiles. Settings of the process, which may change at any time: a choice holds for those that it was
// made under.

#include <atomic>
#include <optional>
#include <string>

#include "libmge/kernel/select.h"

namespace mge {

// Aligned as a whole: Clang calls a library for an atomic struct that is not.
struct alignas(2) SelectSettings {
    bool benchmark = false;      // fast-run: a problem with several algorithms is measured once per process
    bool deterministic = false;  // reproducible algorithms only
    bool operator==(const SelectSettings&) const = default;
};

MGE_API extern constinit std::atomic<SelectSettings> settings_of_process;
inline SelectSettings select_settings() { return settings_of_process.load(std::memory_order_relaxed); }
inline void set_select_settings(SelectSettings settings) { settings_of_process = settings; }

// Where what is measured for the process is kept from now on: in a file, with what is there already, as far
// as it can be read and written (FastrunCache::open_tolerant); nullopt: in memory.
MGE_API void keep_measurements(const std::optional<std::string>& path);

// The options with the settings added. What is measured goes to a cache that all of the process share, unless
// the options name one.
MGE_API SelectOptions with_settings(SelectOptions options, SelectSettings settings);

// The choice for an operator that runs once, without constants. What has no choice is not measured.
MGE_API Choice select(KernelList list, const Problem& problem, SelectSettings settings);

}  // namespace mge

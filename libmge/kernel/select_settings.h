// SPDX-License-Identifier: Apache-2.0
#pragma once
// Default settings for choosing algorithms: for eager operators, and for traces. They belong to the process
// and may change at any time: a choice is valid for the settings under which it was made.

#include <atomic>
#include <optional>
#include <string>

#include "libmge/kernel/select.h"

namespace mge {

// Aligned as a whole: otherwise Clang calls a library for an atomic struct.
struct alignas(2) SelectSettings {
    bool benchmark = false;      // fast-run: a problem with several algorithms is measured once per process
    bool deterministic = false;  // reproducible algorithms only
    bool operator==(const SelectSettings&) const = default;
};

MGE_API extern constinit std::atomic<SelectSettings> settings_of_process;
inline SelectSettings select_settings() { return settings_of_process.load(std::memory_order_relaxed); }
inline void set_select_settings(SelectSettings settings) { settings_of_process = settings; }

// Sets the storage of the process's measurements: a file, including its existing contents, as far as it can
// be read and written (FastrunCache::open_tolerant); nullopt: memory.
MGE_API void keep_measurements(const std::optional<std::string>& path);

// The options with the settings added. Measurements go to a cache shared by the process, unless the options
// name one.
MGE_API SelectOptions with_settings(SelectOptions options, SelectSettings settings);

// Chooses for an operator that runs once, without constants. Nothing is measured without alternatives.
MGE_API Choice select(KernelList list, const Problem& problem, SelectSettings settings);

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/select_settings.h"

#include <algorithm>

#include "libmge/kernel/fastrun_cache.h"

namespace mge {
namespace {

// Never freed, one that another took the place of neither: threads may still choose with it.
std::atomic<FastrunCache*>& cache_of_process() {
    static std::atomic<FastrunCache*> cache = FastrunCache::in_memory().release();
    return cache;
}

bool has_choice(KernelList list, const Problem& problem) {
    auto is_serious = [](auto& named) { return !named.candidate.attributes.naive; };
    return std::ranges::count_if(list_candidates(list, problem), is_serious) > 1;
}

// Outputs that find out their own shape cannot be measured.
bool may_measure(const Problem& problem) {
    return std::ranges::all_of(problem.outputs, [](auto& spec) { return spec.shape.is_known(); });
}

}  // namespace

constinit std::atomic<SelectSettings> settings_of_process{};

void keep_measurements(const std::optional<std::string>& path) {
    auto cache = path ? FastrunCache::open_tolerant(*path) : FastrunCache::in_memory();
    cache_of_process() = cache.release();
}

SelectOptions with_settings(SelectOptions options, SelectSettings settings) {
    if (settings.deterministic) options.reproducible = true;
    if (!settings.benchmark) return options;
    options.profile = options.optimized = true;
    options.heuristic = false;
    if (!options.cache) options.cache = cache_of_process();
    return options;
}

Choice select(KernelList list, const Problem& problem, SelectSettings settings) {
    if (settings.benchmark) settings.benchmark = may_measure(problem) && has_choice(list, problem);
    return select(list, problem, {}, with_settings({}, settings));
}

}  // namespace mge

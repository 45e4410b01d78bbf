// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/affinity.h"

#include <algorithm>
#include <span>

#include "libmge/base/error.h"
#include "libmge/base/number_text.h"
#include "libmge/base/threads/threads.h"
#include "libmge/device/cpu/affinity.h"

namespace mge::load_and_run {
namespace {

struct Pinning {
    const char* option;
    std::vector<int> cpus;
};

Pinning pinning_of(const DeviceOptions& o) {
    if (!o.affinity.empty()) return {"--affinity", parse_cpu_list("--affinity", o.affinity)};
    if (!o.core_ids.empty())
        return {"--multi-thread-core-ids", parse_cpu_list("--multi-thread-core-ids", o.core_ids)};
    return {"", {}};
}

}  // namespace

void set_threads(const Options& options) {
    int workers = std::max(options.run.streams, options.run.loads);
    auto [option, cpus] = pinning_of(options.device);
    int threads = options.device.wanted_threads();
    if (!threads) threads = std::max(1, (cpus.empty() ? default_threads() : int(cpus.size())) / workers);
    set_default_threads(threads);
    if (cpus.empty()) return;
    if (int(cpus.size()) != threads * workers)
        throw_value_error(option, counted(cpus.size(), "CPU"), " for ", counted(threads * workers, "thread"),
                          " (", workers, " times ", threads, "); give one CPU for each");
    auto allowed = allowed_cpus();
    for (int cpu : cpus)
        if (std::ranges::find(allowed, cpu) == allowed.end())
            throw_value_error(option, "CPU ", cpu, " is not among those this process may use (",
                              cpu_list(allowed), ")");
}

std::vector<int> pinned_cpus(const Options& options) { return pinning_of(options.device).cpus; }

void pin_team(const Options& options, int n) {
    auto cpus = pinned_cpus(options);
    if (cpus.empty()) return;
    auto threads = size_t(default_threads());
    pin_threads(std::span(cpus).subspan(size_t(n) * threads, threads));
}

}  // namespace mge::load_and_run

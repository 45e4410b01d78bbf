// SPDX-License-Identifier: Apache-2.0
#include "apps/dump/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <span>
#include <sstream>

#include "apps/cli/output/table.h"
#include "libmge/base/cgroup.h"
#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/threads/thread_team.h"
#include "libmge/base/threads/threads.h"
#include "libmge/device/cpu/cpu_device.h"
#include "libmge/device/cpu/library_versions.h"
#include "libmge/device/device.h"
#include "libmge/device/gpu.h"
#include "libmge/kernel/fastrun_cache.h"

namespace mge::dump {
namespace {

namespace fs = std::filesystem;

// Returns the first line of a file; empty if it cannot be read.
std::string first_line(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

// Returns the value after "key :" in files such as /proc/cpuinfo and /proc/meminfo.
std::string value_in(const std::string& path, std::string_view key) {
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        size_t colon = line.find(':');
        if (colon == line.npos || !line.starts_with(key)) continue;
        size_t begin = line.find_first_not_of(" \t", colon + 1);
        return begin == line.npos ? "" : line.substr(begin);
    }
    return {};
}

MachineFact isa() {
    // Instruction sets that MGE can use, as Linux names them; the required one is first.
    constexpr std::string_view of_x86[] = {"sse4_2",  "avx2",        "fma",         "f16c",     "avx_vnni",
                                           "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8"};
    constexpr std::string_view of_arm[] = {"asimd", "asimddp", "asimdhp", "i8mm", "bf16"};
    const bool is_arm = cpu_isa() < Isa::sse4;
    using Names = std::span<const std::string_view>;
    const Names used = is_arm ? Names(of_arm) : Names(of_x86);
    std::istringstream flags(value_in("/proc/cpuinfo", is_arm ? "Features" : "flags"));
    std::set<std::string> all{std::istream_iterator<std::string>(flags), {}};
    std::string found;
    for (auto flag : used)
        if (all.contains(std::string(flag))) found += (found.empty() ? "" : " ") + std::string(flag);
    MachineFact fact{"isa", MachineState::ok, text(name_of(cpu_isa()), " of ", found), {}, true};
    if (!all.contains(std::string(used.front())) && !all.empty()) {
        fact.state = MachineState::missing;
        fact.advice =
            is_arm ? "a processor with NEON is needed" : "a processor with SSE4.2 or better is needed";
    } else if (auto limit = env_string("MGE_ISA")) {
        fact.state = MachineState::limited;
        fact.advice = text("MGE_ISA=", *limit, " limits it; unset it to use all");
    }
    return fact;
}

MachineFact cpu() { return {"cpu", MachineState::ok, cpu_model(), {}}; }

MachineFact threads() {
    cpu_set_t set;
    CPU_ZERO(&set);
    auto online = int(::sysconf(_SC_NPROCESSORS_ONLN));
    int affinity = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : online;
    auto quota = cpu_quota();
    MachineFact fact{"threads",
                     MachineState::ok,
                     text(default_threads(), " of ", online, " CPUs; affinity allows ", affinity,
                          ", cgroup quota ", quota ? text(quota->cpus, " in ", quota->group) : "none"),
                     {}};
    bool is_quota_below = quota && quota->cpus < std::min(affinity, online);
    if (default_threads() >= online && !is_quota_below) return fact;
    fact.state = MachineState::limited;
    if (env_string("MGE_THREADS"))
        fact.advice = "MGE_THREADS limits it; unset it to use all";
    else
        fact.advice = is_quota_below ? "the cgroup's CPU quota limits it (docker --cpus, systemd CPUQuota=)"
                                     : "the process is bound to some CPUs (taskset, cpuset)";
    return fact;
}

MachineFact memory() {
    auto kib = [](const char* key) { return std::atof(value_in("/proc/meminfo", key).c_str()); };
    auto limit = memory_limit_of_groups();
    MachineFact fact{"memory",
                     MachineState::ok,
                     cli::format_bytes(1024 * kib("MemAvailable")) + " free of " +
                         cli::format_bytes(1024 * kib("MemTotal")),
                     {}};
    if (limit && double(limit->bytes) < 1024 * kib("MemTotal")) {
        fact.state = MachineState::limited;
        fact.advice = text("the cgroup ", limit->group, " allows ", cli::format_bytes(double(limit->bytes)));
    }
    return fact;
}

MachineFact huge_pages() {
    std::string modes = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
    size_t open = modes.find('['), close = modes.find(']');
    bool is_there = open != modes.npos && close != modes.npos;
    std::string mode = is_there ? modes.substr(open + 1, close - open - 1) : "not in this kernel";
    MachineFact fact{"huge_pages", MachineState::ok, "transparent: " + mode, {}};
    if (mode == "always" || mode == "madvise") return fact;
    fact.state = is_there ? MachineState::limited : MachineState::missing;
    fact.advice =
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled speeds up access to large weights";
    return fact;
}

MachineFact frequency() {
    std::string governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    MachineFact fact{"frequency", MachineState::ok, "governor " + governor, {}};
    if (governor.empty()) {
        fact.found = "set by the host (virtual machine)";
    } else if (governor != "performance") {
        fact.state = MachineState::limited;
        fact.advice =
            "times vary less with the governor 'performance' (cpupower frequency-set -g performance)";
    }
    return fact;
}

// Returns the path of a library that is loaded in this process.
std::string loaded_file(std::string_view name) {
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);)
        if (size_t slash = line.rfind('/'); slash != line.npos && line.substr(slash + 1).starts_with(name))
            return line.substr(slash + 1);
    return "not loaded";
}

MachineFact libraries() {
    return {
        "libraries",
        MachineState::ok,
        text(library_versions(), ", OpenMP ", loaded_file("libgomp"),
             team_kind() == TeamKind::own ? " (not used: own threads), " : ", ", loaded_file("libsqlite3")),
        {}};
}

MachineFact cache() {
    auto path = FastrunCache::default_path();
    if (!path)
        return {"fastrun_cache", MachineState::missing, "no folder that only this user can write",
                "set HOME or XDG_CACHE_HOME"};
    fs::path folder = fs::path(*path).parent_path(), existing = folder;
    while (!existing.empty() && !fs::exists(existing)) existing = existing.parent_path();
    MachineFact fact{"fastrun_cache", MachineState::ok, *path, {}};
    if (::access(existing.c_str(), W_OK) != 0) {
        fact.state = MachineState::missing;
        fact.advice = text("'", folder.string(), "' cannot be written; set XDG_CACHE_HOME");
    }
    return fact;
}

MachineFact energy() {
    constexpr auto counter = "/sys/class/powercap/intel-rapl:0/energy_uj";
    MachineFact fact{"energy", MachineState::ok, counter, {}};
    if (::access(counter, R_OK) == 0) return fact;
    bool is_there = fs::exists(counter);
    fact.state = MachineState::missing;
    fact.found = is_there ? "RAPL is not readable" : "no RAPL counter";
    fact.advice = is_there ? text("chmod a+r ", counter, " allows measuring energy")
                           : "energy per inference cannot be measured here";
    return fact;
}

MachineFact gpu() {
    auto& gpu = gpus();
    if (gpu.count == 0)
        return {"gpu", MachineState::missing, "none",
                text("all work runs on the CPU: ", gpu.why_unavailable)};
    return {"gpu", MachineState::ok, text(gpu.count, " x ", device(parse_device("gpu0")).model()), {}};
}

MachineFact graphviz() {
    MachineFact fact{"graphviz", MachineState::missing, "none",
                     "apt install graphviz lets mge-dump graph write SVG"};
    std::istringstream path(env_string("PATH").value_or(""));
    for (std::string folder; std::getline(path, folder, ':');) {
        std::string program = folder + "/dot";
        if (::access(program.c_str(), X_OK) == 0) return {"graphviz", MachineState::ok, program, {}};
    }
    return fact;
}

}  // namespace

std::vector<MachineFact> examine_machine() {
    return {cpu(),       isa(),   threads(), memory(), huge_pages(), frequency(),
            libraries(), cache(), energy(),  gpu(),    graphviz()};
}

}  // namespace mge::dump

// SPDX-License-Identifier: Apache-2.0
#include "apps/load_and_run/profile.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "apps/cli/options/output_option.h"
#include "apps/cli/output/commit.h"
#include "apps/cli/output/table.h"
#include "apps/load_and_run/compile_options.h"
#include "apps/load_and_run/job.h"
#include "apps/load_and_run/session.h"
#include "libmge/base/log.h"
#include "libmge/base/threads/threads.h"
#include "libmge/device/device.h"
#include "libmge/inspect/device_peak.h"
#include "libmge/inspect/peak.h"
#include "libmge/inspect/profile/profiler.h"

namespace mge::load_and_run {
namespace {

std::string path_for(const std::string& path, size_t test) {
    if (test == 0) return path;
    std::filesystem::path p = path;
    auto extension = p.extension().string();
    return p.replace_extension(std::to_string(test) + extension).string();
}

// Warm-up runs are recorded like all runs, but only the timed ones are reported.
void drop_warm_up(Profile& profile, int64_t warm_up_runs) {
    profile.runs_total = std::max<int64_t>(0, profile.runs_total - warm_up_runs);
    auto surplus = int64_t(profile.runs.size()) - profile.runs_total;
    if (surplus <= 0) return;
    profile.runs.erase(profile.runs.begin(), profile.runs.begin() + surplus);
    int64_t origin = profile.runs.empty() ? 0 : profile.runs.front().start;
    for (auto& run : profile.runs) run.start -= origin;
}

// Adds what only the tool knows. The program's options include those that the model's file stores.
void complete_recording(const Job& job, ProfileRecording& recording) {
    recording.commit = cli::commit_id();
    recording.command = {job.invocation.tool};
    auto& arguments = job.invocation.arguments;
    recording.command.insert(recording.command.end(), arguments.begin(), arguments.end());
    recording.options = changed_options(job.session->requested());
}

// Measures the peak performance of the machine for the steps.
void measure_roof(Job& job, const Test& test, Profile& profile) {
    if (profile.devices.empty()) {
        profile.peak = measure_peak(default_threads());
        if (!profile.peak)
            log_warning(
                "load_and_run: there is not enough memory to measure the machine's peak; the profile lacks "
                "it");
        return;
    }
    // In memory that does not belong to the run.
    auto& place = device(job.options.device.place());
    auto memory = place.memory();
    if (memory.limit) return;
    job.allocated_peak = std::max(job.allocated_peak, memory.peak);
    profile.devices[0].peak = measure_device_peak(*test.program, job.session->compile_options());
    place.release_cached();
    place.reset_peak();
}

}  // namespace

void add(CLI::App& app, ProfileOptions& o) {
    cli::written(app.add_option("--profile", o.file,
                                "Write when each step of the timed runs began and ended, for mge-profile"))
        ->type_name("FILE.json");
    cli::written(app.add_option("--profile-host", o.host_file,
                                "The same, and how long the host takes between kernels; overrides --profile"))
        ->type_name("FILE.json");
}

void check(const ProfileOptions& o) {
    if (o.path().empty()) return;
    // Before the runs, not after them.
    auto folder = std::filesystem::absolute(o.path()).parent_path();
    std::error_code unknown;
    if (!std::filesystem::is_directory(folder, unknown))
        throw_value_error(o.wants_host() ? "--profile-host" : "--profile", "there is no folder '",
                          folder.string(), "' for '", o.path(), "'");
}

void begin_profile(Job& job, Test& test) {
    auto& o = job.options.profile;
    if (o.path().empty()) return;
    auto* guards = job.checks->lasting_observer();
    // With guards between the steps, the start of a step needs a second clock reading.
    job.profiler = std::make_shared<Profiler>(
        *test.program, ProfilerOptions{.dispatch = o.wants_host() || guards,
                                       .warm_up_runs = job.options.run.warmup_iterations});
    test.context->observe(guards);
    test.context->attach(*job.profiler);  // behind the guards: next to the steps
}

void end_profile(Job& job, Test& test) {
    auto& o = job.options.profile;
    if (!job.profiler) return;
    test.context->observe(nullptr);
    const Profiler* profilers[] = {job.profiler.get()};
    Profile profile = make_profile(*test.program, job.options.run.model.path, profilers);
    drop_warm_up(profile, job.options.run.warmup_iterations);
    complete_recording(job, profile.recording);
    measure_roof(job, test, profile);
    std::string path = path_for(o.path(), test.index);
    write_profile(path, profile);
    std::cout << "profile of " << cli::counted(profile.runs.size(), "run") << ": " << path << '\n';
    if (test.index == 0)
        job.report["profile"] = {{"file", path},
                                 {"runs", profile.runs.size()},
                                 {"runs_total", profile.runs_total},
                                 {"steps", profile.steps.size()},
                                 {"host", o.wants_host()}};
    job.profiler.reset();
}

}  // namespace mge::load_and_run

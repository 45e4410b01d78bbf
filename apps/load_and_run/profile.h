// SPDX-License-Identifier: Apache-2.0
#pragma once
// --profile and --profile-host: when each step of the timed runs began and ended, in a file for mge-profile.

#include <string>

namespace CLI {
class App;
}

namespace mge::load_and_run {

struct Job;
struct Test;

struct ProfileOptions {
    std::string file;       // --profile
    std::string host_file;  // --profile-host
    const std::string& path() const { return host_file.empty() ? file : host_file; }
    bool wants_host() const { return !host_file.empty(); }
};

void add(CLI::App& app, ProfileOptions& options);
void check(const ProfileOptions& options);

// Called around the timed runs. The first test's profile is written to the file itself, those of further
// tests to numbered files: profile.json, profile.1.json, …
void begin_profile(Job& job, Test& test);
void end_profile(Job& job, Test& test);

}  // namespace mge::load_and_run

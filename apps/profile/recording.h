// SPDX-License-Identifier: Apache-2.0
#pragma once
// How profiles were recorded, for tables, reports and pages. Files of older versions do not say it all.

#include <ostream>
#include <string>
#include <vector>

#include "apps/cli/tool.h"
#include "libmge/base/json_writer.h"
#include "libmge/inspect/profile/profile.h"

namespace mge::profile {

// Returns the command as a shell reads it; empty if it is unknown.
std::string command_text(const ProfileRecording& recording);
// Returns "mge 1.0.0, oneDNN 2.6.3, commit 0123456789ab".
std::string program_text(const Profile& profile);
// Returns "precision=relaxed, enable_nchw88=true"; empty if all options have their defaults.
std::string options_text(const ProfileRecording& recording);

// Prints a line each for date and program, the command, and the options, as far as they are known.
void print_recording(std::ostream& stream, const Profile& profile);
cli::Json recording_json(const Profile& profile);
// Writes the member "recording" of a page's data.
void write_recording(JsonWriter& json, const Profile& profile);

// A circumstance, besides the steps, in which two recordings differ. Empty: unknown, or the default.
struct Difference {
    std::string name, before, after;
};
std::vector<Difference> recording_differences(const Profile& before, const Profile& after);

}  // namespace mge::profile

// SPDX-License-Identifier: Apache-2.0
#include "apps/profile/recording.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/profile/text.h"
#include "libmge/base/error.h"
#include "libmge/base/joined.h"

namespace mge::profile {
namespace {

// Returns the word in quotes if a shell would change it.
std::string shell_word(const std::string& word) {
    constexpr std::string_view plain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%^";
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) return word;
    std::string quoted = "'";
    for (char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
    return quoted + "'";
}

std::string devices_text(const Profile& profile) {
    std::vector<std::string> models;
    for (auto& device : profile.devices) models.push_back(device.model);
    return joined(models, ", ");
}

std::vector<std::string> names_of_options(const Profile& before, const Profile& after) {
    std::vector<std::string> names;
    for (auto* profile : {&before, &after})
        for (auto& option : profile->recording.options)
            if (std::ranges::find(names, option.name) == names.end()) names.push_back(option.name);
    return names;
}

std::string value_of_option(const ProfileRecording& recording, const std::string& name) {
    auto found = std::ranges::find(recording.options, name, &ProfileRecording::Option::name);
    return found == recording.options.end() ? "" : found->value;
}

}  // namespace

std::string command_text(const ProfileRecording& recording) {
    std::vector<std::string> words;
    for (auto& word : recording.command) words.push_back(shell_word(word));
    return joined(words, " ");
}

std::string program_text(const Profile& profile) {
    auto& recording = profile.recording;
    std::string program = recording.libraries;
    if (program.empty() && !profile.version.empty()) program = "mge " + profile.version;
    if (!recording.commit.empty()) program += ", commit " + recording.commit;
    return program;
}

std::string options_text(const ProfileRecording& recording) {
    std::vector<std::string> words;
    for (auto& option : recording.options) words.push_back(option.name + "=" + option.value);
    return joined(words, ", ");
}

void print_recording(std::ostream& stream, const Profile& profile) {
    auto& recording = profile.recording;
    if (!recording.date.empty())
        stream << "recorded " << printable(recording.date) << " by " << printable(program_text(profile))
               << '\n';
    if (!recording.command.empty()) stream << "command: " << printable(command_text(recording)) << '\n';
    if (!recording.options.empty()) stream << "options: " << printable(options_text(recording)) << '\n';
}

cli::Json recording_json(const Profile& profile) {
    auto& recording = profile.recording;
    cli::Json options = cli::Json::object();
    for (auto& option : recording.options) options[option.name] = option.value;
    return {{"version", profile.version},   {"date", recording.date},
            {"commit", recording.commit},   {"libraries", recording.libraries},
            {"command", recording.command}, {"options", std::move(options)}};
}

void write_recording(JsonWriter& json, const Profile& profile) {
    json.object_member("recording", [&] {
        json.member("date", profile.recording.date);
        json.member("program", program_text(profile));
        json.member("command", command_text(profile.recording));
        json.member("options", options_text(profile.recording));
    });
}

std::vector<Difference> recording_differences(const Profile& before, const Profile& after) {
    std::vector<Difference> differences;
    auto add = [&](const std::string& name, const std::string& first, const std::string& second) {
        if (first != second) differences.push_back({name, first, second});
    };
    add("model", before.model, after.model);
    add("program", program_text(before), program_text(after));
    add("processor", before.cpu, after.cpu);
    add("instruction set", before.isa, after.isa);
    add("threads", std::to_string(before.threads), std::to_string(after.threads));
    add("devices", devices_text(before), devices_text(after));
    for (auto& name : names_of_options(before, after))
        add(name, value_of_option(before.recording, name), value_of_option(after.recording, name));
    return differences;
}

}  // namespace mge::profile

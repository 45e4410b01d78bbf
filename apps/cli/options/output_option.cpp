// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/output_option.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "apps/cli/tool.h"

namespace mge::cli {
namespace {

namespace fs = std::filesystem;

constexpr auto mark = "written", file_mark = "written as a file", replacing_mark = "replaces ";

bool is_marked(const CLI::Option& option, const char* as) {
    try {
        return const_cast<CLI::Option&>(option).get_validator(as) != nullptr;
    } catch (const CLI::OptionNotFound&) {
        return false;
    }
}

// Returns a canonical path; empty for places that accept several writers (stdout, /dev/null).
std::string place_of(const std::string& path) {
    std::error_code unknown;
    if (path.empty() || path == "-") return {};
    if (fs::exists(path, unknown) && !fs::is_regular_file(path, unknown) && !fs::is_directory(path, unknown))
        return {};
    fs::path place = fs::absolute(path, unknown);
    // Canonicalise the target of a dangling symlink by hand.
    if (fs::is_symlink(place, unknown) && !fs::exists(place, unknown))
        place = place.parent_path() / fs::read_symlink(place, unknown);
    place = fs::weakly_canonical(place, unknown);
    return unknown ? path : place.string();
}

CLI::Option* marked(CLI::Option* option, const char* as) {
    return option->check(CLI::Validator([](std::string&) { return std::string(); }, "", as));
}

std::string title(const CLI::Option& option) {
    return option.get_positional() ? "'" + option.get_name(true) + "'" : option.get_name(false, false);
}

bool is_input(const CLI::Option& option) {
    auto type = option.get_type_name();
    return option.get_positional() || type.starts_with("FILE") || type == "REF";
}

bool may_replace(const CLI::Option& output, const CLI::Option& input) {
    bool are_arguments = output.get_positional() && input.get_positional();
    return are_arguments || is_marked(output, text(replacing_mark, input.get_name()).c_str());
}

}  // namespace

CLI::Option* written(CLI::Option* option) { return marked(written_with_folders(option), file_mark); }

void add_written_file(CLI::App& command, const std::string& name, std::string& path,
                      const std::string& description) {
    written(command.add_option(name, path, description))->required()->type_name("FILE");
}

CLI::Option* written_with_folders(CLI::Option* option) { return marked(option, mark); }

CLI::Option* replaces(CLI::Option* option, const std::string& input) {
    return marked(option, text(replacing_mark, input).c_str());
}

bool names_output(std::span<const CLI::App* const> apps) {
    for (auto* app : apps)
        for (auto* option : app->get_options())
            if (option->count() > 0 && is_marked(*option, mark)) return true;
    return false;
}

void refuse_same_outputs(std::span<const CLI::App* const> apps) {
    std::map<std::string, const CLI::Option*> outputs;  // by place
    std::multimap<std::string, const CLI::Option*> inputs;
    auto refuse = [](const CLI::Option& one, const CLI::Option& other, const std::string& place) {
        throw UsageError(text(title(one), " and ", title(other), " both name '", place, "'"),
                         "give each a separate file");
    };
    for (auto* app : apps)
        for (auto* option : app->get_options()) {
            bool is_output = is_marked(*option, mark);
            if (option->count() == 0 || (!is_output && !is_input(*option))) continue;
            for (auto& path : option->results()) {
                std::string place = place_of(path);
                if (place.empty()) continue;
                if (!is_output) {
                    inputs.emplace(place, option);
                    continue;
                }
                auto [other, is_new] = outputs.emplace(place, option);
                if (!is_new && other->second != option) refuse(*other->second, *option, path);
            }
        }
    for (auto& [place, input] : inputs)
        if (auto output = outputs.find(place); output != outputs.end())
            if (!may_replace(*output->second, *input)) refuse(*output->second, *input, place);
}

void refuse_unwritable(std::span<const CLI::App* const> apps, std::string& report) {
    auto refuse = [&](const CLI::Option& option, const std::string& what, const char* hint) {
        if (option.get_name() == "--json") report.clear();
        throw UsageError(option.get_positional() ? what : text('[', title(option), "] ", what), hint);
    };
    for (auto* app : apps)
        for (auto* option : app->get_options()) {
            if (option->count() == 0 || !is_marked(*option, file_mark)) continue;
            for (auto& path : option->results()) {
                std::string place = place_of(path);
                if (place.empty()) continue;
                std::string folder = fs::path(place).parent_path();
                if (::faccessat(AT_FDCWD, folder.c_str(), W_OK | X_OK, AT_EACCESS) == 0) continue;
                int code = errno;
                if (code == ENOENT || code == ENOTDIR)
                    refuse(*option, text("there is no folder '", folder, "' for '", path, "'"),
                           "make it, or give another");
                if (code == EACCES || code == EROFS)
                    refuse(*option,
                           text("cannot write '", path, "' into '", folder, "': ", std::strerror(code)),
                           "give another folder");
            }
        }
}

}  // namespace mge::cli

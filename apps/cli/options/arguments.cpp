// SPDX-License-Identifier: Apache-2.0
#include "apps/cli/options/arguments.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <sstream>

#include "apps/cli/tool.h"
#include "libmge/base/error.h"
#include "libmge/base/files/file.h"
#include "libmge/base/files/file_limit.h"

namespace mge::cli {
namespace {

using Strings = std::vector<std::string>;

std::string normalize_option(std::string argument) {
    size_t equals = std::min(argument.find('='), argument.size());
    std::replace(argument.begin(), argument.begin() + std::ptrdiff_t(equals), '_', '-');
    bool long_name_after_one_dash = argument[1] != '-' && equals > 2;
    return long_name_after_one_dash ? "-" + argument : argument;
}

bool is_option(const std::string& argument) {
    return argument.size() > 1 && argument[0] == '-' &&
           (argument[1] == '-' || std::isalpha(uint8_t(argument[1])));
}

std::string trimmed(const std::string& line) {
    constexpr auto blanks = " \t\r\n";
    size_t begin = line.find_first_not_of(blanks);
    return begin == line.npos ? "" : line.substr(begin, line.find_last_not_of(blanks) - begin + 1);
}

class FlagFiles {
public:
    Strings expand(const Strings& arguments) {
        Strings result;
        for (size_t i = 0; i < arguments.size(); ++i) {
            constexpr std::string_view name = "--flagfile";
            const std::string& argument = arguments[i];
            if (argument == "--") {
                result.insert(result.end(), arguments.begin() + std::ptrdiff_t(i), arguments.end());
                break;
            }
            if (argument.starts_with("--flagfile="))
                read_all(argument.substr(name.size() + 1), result);
            else if (argument != name)
                result.push_back(argument);
            else if (i + 1 < arguments.size())
                read_all(arguments[++i], result);
            else
                throw UsageError("--flagfile needs a value", "give it the path of a file with flags");
        }
        return result;
    }

private:
    void read_all(const std::string& paths, Strings& result) {
        for (size_t begin = 0; begin <= paths.size();) {
            size_t end = std::min(paths.find(',', begin), paths.size());
            for (auto& flag : read(paths.substr(begin, end - begin))) result.push_back(flag);
            begin = end + 1;
        }
    }

    Strings read(const std::string& path) {
        std::error_code error;
        std::string file = std::filesystem::weakly_canonical(path, error).string();
        if (std::ranges::find(open_, file) != open_.end())
            throw UsageError(text("--flagfile: '", path, "' reads itself"), "take that line out of the file");
        std::istringstream stream(content_of(path));
        open_.push_back(file);
        Strings flags = expand(parse(stream, path));
        open_.pop_back();
        return flags;
    }

    // Bounds the total size: files may include others many times.
    std::string content_of(const std::string& path) {
        std::string content;
        try {
            content = read_text(path);
        } catch (const UserError& e) {
            throw UsageError(text("--flagfile: ", e.what()),
                             "give the path of a text file with one flag per line");
        }
        budget_.take(content.size() + sizeof(std::string), memory_per_byte_of_text);
        return content;
    }

    static Strings parse(std::istream& stream, const std::string& path) {
        Strings flags;
        std::string line;
        for (int number = 1; std::getline(stream, line); ++number) {
            line = trimmed(line);
            if (line.empty() || line[0] == '#') continue;
            if (!is_option(line) || line == "--")
                throw UsageError(text("--flagfile: line ", number, " of '", path, "' is '", line, "'"),
                                 "a line is one flag (--name, --name=value), a comment (#) or blank");
            size_t end = line.find_first_of("= \t");
            if (end != line.npos && line[end] != '=')
                line = line.substr(0, end) + '=' + trimmed(line.substr(end));
            flags.push_back(normalize_option(line));
        }
        return flags;
    }

    Strings open_;  // files being read, outermost first
    const std::string label_ = "--flagfile";
    FileBudget budget_{label_, 0};
};

}  // namespace

Strings normalize_arguments(const Strings& arguments) {
    Strings result;
    bool options = true;
    for (auto& argument : arguments) {
        if (argument == "--") options = false;
        result.push_back(options && is_option(argument) && argument != "--" ? normalize_option(argument)
                                                                            : argument);
    }
    return result;
}

Strings normalize_arguments(int argc, const char* const* argv) {
    return normalize_arguments(argc > 1 ? Strings(argv + 1, argv + argc) : Strings());
}

Strings expand_flag_files(const Strings& arguments) { return FlagFiles().expand(arguments); }

void rewrite_negated_flags(Strings& arguments, const std::set<std::string>& flags,
                           const std::set<std::string>& options) {
    for (auto& argument : arguments) {
        if (argument == "--") return;
        if (!argument.starts_with("--no")) continue;
        if (options.contains(argument.substr(2))) continue;
        std::string name = argument.substr(4);
        if (name.starts_with('-') && !flags.contains(name)) name.erase(0, 1);
        if (flags.contains(name)) argument = "--" + name + "=false";
    }
}

void rewrite_truths(Strings& arguments, const std::set<std::string>& flags) {
    constexpr std::string_view yes[] = {"true", "on", "yes", "enable", "1"};
    constexpr std::string_view no[] = {"false", "off", "no", "disable", "0"};
    for (auto& argument : arguments) {
        if (argument == "--") return;
        size_t equals = argument.find('=');
        if (!argument.starts_with("--") || equals == argument.npos) continue;
        if (!flags.contains(argument.substr(2, equals - 2))) continue;
        std::string word = argument.substr(equals + 1), small = word;
        std::ranges::transform(small, small.begin(), [](char c) { return char(std::tolower(uint8_t(c))); });
        bool is_yes = std::ranges::find(yes, small) != std::end(yes);
        if (!is_yes && std::ranges::find(no, small) == std::end(no))
            throw UsageError(text(argument.substr(0, equals), ": '", word, "' is neither true nor false"),
                             "a flag takes no value, or =true or =false");
        argument = argument.substr(0, equals + 1) + (is_yes ? "true" : "false");
    }
}

void refuse_empty_entries(const Strings& arguments, const std::set<std::string>& lists) {
    for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
        if (!arguments[i].starts_with("--")) continue;
        size_t equals = std::min(arguments[i].find('='), arguments[i].size());
        std::string name = arguments[i].substr(0, equals);
        if (!lists.contains(name.substr(2))) continue;
        bool is_behind = equals == arguments[i].size() && i + 1 < arguments.size();
        std::string list =
            is_behind ? arguments[i + 1] : arguments[i].substr(std::min(equals + 1, arguments[i].size()));
        if (!list.empty() && ("," + list + ",").find(",,") != std::string::npos)
            throw UsageError(text(name, ": '", list, "' has an empty entry"),
                             "write values with one comma between them");
    }
}

void refuse_empty_values(const Strings& arguments) {
    for (auto& argument : arguments) {
        if (argument == "--") return;
        if (is_option(argument) && argument.find('=') == argument.size() - 1)
            throw UsageError(text("'", argument, "' has no value"), "omit it, or write a value after the =");
    }
}

std::string value_of(const std::string& name, const Strings& arguments) {
    std::string value;
    for (size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
        if (arguments[i].starts_with(name + "="))
            value = arguments[i].substr(name.size() + 1);
        else if (arguments[i] == name && i + 1 < arguments.size())
            value = arguments[++i];
    }
    return value;
}

}  // namespace mge::cli

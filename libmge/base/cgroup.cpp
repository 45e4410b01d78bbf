// SPDX-License-Identifier: Apache-2.0
// /proc/self/cgroup lists the group of the process in each hierarchy, and /proc/self/mountinfo the visible
// part of the hierarchy. Both name groups as seen from this process's cgroup namespace. Kernel files exist
// for the limits that apply: a v2 hierarchy next to v1 hierarchies has no files of their controllers.
#include "libmge/base/cgroup.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <string_view>
#include <vector>

#include "libmge/base/read_double.h"

namespace mge {
namespace {

struct Hierarchy {
    bool is_v2;
    std::string group;  // "/user.slice/x": where the process is
};

struct Mount {
    bool is_v2;
    std::string root;    // the group that is seen at `folder`
    std::string folder;  // "/sys/fs/cgroup/cpu"
};

std::vector<std::string> split(std::string_view line, char separator) {
    std::vector<std::string> words;
    for (size_t begin = 0; begin <= line.size();) {
        size_t end = std::min(line.find(separator, begin), line.size());
        words.emplace_back(line.substr(begin, end - begin));
        begin = end + 1;
    }
    return words;
}

bool names(std::string_view list, std::string_view word) {
    auto words = split(list, ',');
    return std::find(words.begin(), words.end(), word) != words.end();
}

// The kernel writes blank, tab, line end and backslash of a path as \040 and so on.
std::string unescaped(std::string_view text) {
    std::string result;
    for (size_t i = 0; i < text.size(); ++i) {
        int code = 0;
        bool is_escape = text[i] == '\\' && i + 3 < text.size() &&
                         std::from_chars(&text[i + 1], &text[i] + 4, code, 8).ptr == &text[i] + 4;
        result += is_escape ? char(code) : text[i];
        if (is_escape) i += 3;
    }
    return result;
}

// "4:cpu,cpuacct:/docker/1a" is of v1, "0::/user.slice" of v2.
std::vector<Hierarchy> read_hierarchies(const std::string& root, std::string_view controller) {
    std::ifstream file(root + "/proc/self/cgroup");
    std::vector<Hierarchy> result;
    for (std::string line; std::getline(file, line);) {
        size_t first = line.find(':'), second = first == line.npos ? first : line.find(':', first + 1);
        if (second == line.npos) continue;
        auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
        bool is_v2 = controllers.empty();
        if (is_v2 || names(controllers, controller)) result.push_back({is_v2, line.substr(second + 1)});
    }
    return result;
}

// "31 23 0:28 ROOT FOLDER OPTIONS [more]… - cgroup SOURCE rw,cpu".
std::vector<Mount> read_mounts(const std::string& root, std::string_view controller) {
    std::ifstream file(root + "/proc/self/mountinfo");
    std::vector<Mount> result;
    for (std::string line; std::getline(file, line);) {
        auto fields = split(line, ' ');
        auto dash = std::find(fields.begin(), fields.end(), "-");
        if (dash - fields.begin() < 6 || fields.end() - dash < 4) continue;
        bool is_v2 = dash[1] == "cgroup2";
        if (is_v2 || (dash[1] == "cgroup" && names(dash[3], controller)))
            result.push_back({is_v2, unescaped(fields[3]), unescaped(fields[4])});
    }
    return result;
}

// The part of `group` after `root`: "" for the same group. std::nullopt if `group` is not below `root`, which
// happens when namespaces and mounts were created independently; the process then cannot see its own group.
std::optional<std::string> below(const std::string& group, const std::string& root) {
    if (root == "/") return group == "/" ? "" : group;
    if (!group.starts_with(root)) return std::nullopt;
    std::string rest = group.substr(root.size());
    if (!rest.empty() && rest[0] != '/') return std::nullopt;
    return rest;
}

// The folders of the process's groups, of each mount the innermost first.
struct Group {
    bool is_v2;
    std::string folder;
};
std::vector<Group> find_groups(const std::string& root, std::string_view controller) {
    std::vector<Group> result;
    auto mounts = read_mounts(root, controller);
    for (auto& hierarchy : read_hierarchies(root, controller)) {
        for (auto& mount : mounts) {
            if (mount.is_v2 != hierarchy.is_v2) continue;
            std::string rest = below(hierarchy.group, mount.root).value_or("");
            // Above the root of a namespace ("/../x") folders have other names than here.
            if (rest.starts_with("/..")) rest.clear();
            for (;; rest.resize(rest.rfind('/'))) {
                result.push_back({mount.is_v2, mount.folder + rest});
                if (rest.empty()) break;
            }
        }
    }
    return result;
}

std::vector<std::string> words_in(const std::string& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return split(line, ' ');
}

// A number, in any locale; std::nullopt for "max", an empty word, and other words.
std::optional<double> number(const std::string& word) {
    double value = 0;
    auto [end, error] = read_double(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
    return value;
}

// v2: "max 100000" or "150000 100000"; v1: -1 or 150000, and 100000.
std::optional<double> quota_of(const std::string& folder, bool is_v2) {
    std::vector<std::string> words = is_v2 ? words_in(folder + "/cpu.max")
                                           : std::vector{words_in(folder + "/cpu.cfs_quota_us")[0],
                                                         words_in(folder + "/cpu.cfs_period_us")[0]};
    if (words.size() != 2) return std::nullopt;
    auto quota = number(words[0]), period = number(words[1]);
    if (!quota || !period || !(*quota > 0) || !(*period > 0)) return std::nullopt;
    return *quota / *period;
}

// v1 expresses "no limit" by the largest number of whole pages.
std::optional<double> memory_of(const std::string& folder, bool is_v2) {
    auto bytes = number(words_in(folder + (is_v2 ? "/memory.max" : "/memory.limit_in_bytes"))[0]);
    constexpr auto none = double(std::numeric_limits<int64_t>::max() / 2);
    return bytes && *bytes >= 0 && *bytes < none ? bytes : std::nullopt;
}

// Pages of files that have not been used recently are reclaimed on demand, so they count as available.
double reclaimable_in(const std::string& folder, bool is_v2) {
    std::string_view key = is_v2 ? "inactive_file" : "total_inactive_file";
    std::ifstream file(folder + "/memory.stat");
    for (std::string line; std::getline(file, line);)
        if (auto words = split(line, ' '); words.size() == 2 && words[0] == key)
            return number(words[1]).value_or(0);
    return 0;
}

uint64_t used_memory_of(const std::string& folder, bool is_v2) {
    auto used = number(words_in(folder + (is_v2 ? "/memory.current" : "/memory.usage_in_bytes"))[0]);
    return uint64_t(std::max(used.value_or(0) - reclaimable_in(folder, is_v2), 0.0));
}

struct Limit {
    double value;
    Group group;
};

std::optional<Limit> smallest(const std::string& root, std::string_view controller,
                              std::optional<double> (*limit_of)(const std::string&, bool)) {
    std::optional<Limit> result;
    for (auto& group : find_groups(root, controller))
        if (auto value = limit_of(root + group.folder, group.is_v2);
            value && (!result || *value < result->value))
            result = {*value, group};
    return result;
}

}  // namespace

std::optional<CpuQuota> cpu_quota(const std::string& root) {
    auto limit = smallest(root, "cpu", quota_of);
    if (!limit) return std::nullopt;
    return CpuQuota{limit->value, limit->group.folder};
}

std::optional<MemoryLimit> memory_limit_of_groups(const std::string& root) {
    auto limit = smallest(root, "memory", memory_of);
    if (!limit) return std::nullopt;
    auto& group = limit->group;
    return MemoryLimit{uint64_t(limit->value), used_memory_of(root + group.folder, group.is_v2),
                       group.folder};
}

}  // namespace mge

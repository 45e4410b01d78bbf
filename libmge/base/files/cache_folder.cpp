// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/cache_folder.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "libmge/base/env.h"
#include "libmge/base/error.h"
#include "libmge/base/files/own_folder.h"

namespace mge {
namespace {

constexpr mode_t owner_only = 0700;

bool is_absolute(const std::optional<std::string>& path) { return path && path->starts_with('/'); }

// Checks the folder itself, not the target of a link.
bool is_private_folder(const std::string& path) {
    struct stat status {};
    return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && is_own(status, Others::nothing);
}

std::string home_of_user() {
    std::vector<char> buffer(1024);
    passwd entry{};
    passwd* found = nullptr;
    while (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == ERANGE)
        buffer.resize(2 * buffer.size());
    return found && found->pw_dir ? found->pw_dir : "";
}

}  // namespace

std::optional<std::string> cache_folder(const CachePlaces& places) {
    if (is_absolute(places.cache_home)) return places.cache_home;
    if (is_absolute(places.home)) return *places.home + "/.cache";
    if (is_absolute(places.system_home) && is_own_folder(places.system_home, Others::anything))
        return places.system_home + "/.cache";
    std::string own = text(places.temporary, "/mge-", ::geteuid());
    if (::mkdir(own.c_str(), owner_only) != 0 && errno != EEXIST) return std::nullopt;
    return is_private_folder(own) ? std::optional(own) : std::nullopt;
}

std::optional<std::string> cache_folder() {
    CachePlaces places{env_string("XDG_CACHE_HOME"), env_string("HOME"), {}, {}};
    bool is_given = is_absolute(places.cache_home) || is_absolute(places.home);
    if (!is_given) places.system_home = home_of_user();
    auto temporary = env_string("TMPDIR");
    places.temporary = is_absolute(temporary) ? *temporary : "/tmp";
    return cache_folder(places);
}

}  // namespace mge

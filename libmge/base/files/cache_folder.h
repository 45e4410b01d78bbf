// SPDX-License-Identifier: Apache-2.0
#pragma once
// The folder for caches. Its contents determine how programs run, so it must not be writable by other users.

#include <optional>
#include <string>

#include "libmge/base/api.h"

namespace mge {

struct CachePlaces {
    std::optional<std::string> cache_home, home;  // $XDG_CACHE_HOME, $HOME; relative ones are ignored
    std::string system_home;                      // the user's home folder according to the system; may not
                                                  // exist
    std::string temporary;                        // a folder for everyone's files
};

// The first usable folder of: $XDG_CACHE_HOME; .cache in $HOME; .cache in the system's home folder if that
// belongs to this user; mge-<user id> in the temporary folder. The last one is created accessible only to
// this user, and used only if it belongs to this user and is accessible to no one else. Nullopt if there is
// no such folder.
MGE_API std::optional<std::string> cache_folder(const CachePlaces& places);
// The cache folder of this process.
MGE_API std::optional<std::string> cache_folder();

}  // namespace mge

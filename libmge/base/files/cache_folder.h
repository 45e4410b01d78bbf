// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where caches are kept. What is read from there decides how programs run, so nobody else may have put it
// there.

#include <optional>
#include <string>

#include "libmge/base/api.h"

namespace mge {

struct CachePlaces {
    std::optional<std::string> cache_home, home;  // $XDG_CACHE_HOME, $HOME; relative ones are ignored
    std::string system_home;                      // what the system calls the user's home; may not exist
    std::string temporary;                        // a folder for everyone's files
};

// $XDG_CACHE_HOME, .cache in $HOME, .cache in the home that the system knows when that is a folder of this
// user's, or else mge-<user id> in the temporary folder: made so that nobody else may enter it, and taken
// only if it is a folder of this user's that nobody else may enter. Nullopt when there is none of these.
MGE_API std::optional<std::string> cache_folder(const CachePlaces& places);
// Of this process.
MGE_API std::optional<std::string> cache_folder();

}  // namespace mge

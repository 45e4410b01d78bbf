// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether files and folders belong to this user alone: what another user could write is not trusted.

#include <sys/stat.h>

#include <cstdint>
#include <string>

#include "libmge/base/api.h"

namespace mge {

// The most that the permissions may allow to users other than the owner.
enum class Others : uint8_t { anything, no_writing, nothing };

// The owner is this process's effective user, and others have no more rights than these.
MGE_API bool is_own(const struct stat& status, Others others);
// The same of a folder, or of the folder that a link points to; false if there is none.
MGE_API bool is_own_folder(const std::string& path, Others others);

}  // namespace mge

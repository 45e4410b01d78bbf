// SPDX-License-Identifier: Apache-2.0
#include "libmge/base/files/own_folder.h"

#include <unistd.h>

namespace mge {

bool is_own(const struct stat& status, Others others) {
    const mode_t forbidden = others == Others::anything     ? 0
                             : others == Others::no_writing ? S_IWGRP | S_IWOTH
                                                            : S_IRWXG | S_IRWXO;
    return status.st_uid == ::geteuid() && (status.st_mode & forbidden) == 0;
}

bool is_own_folder(const std::string& path, Others others) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && is_own(status, others);
}

}  // namespace mge

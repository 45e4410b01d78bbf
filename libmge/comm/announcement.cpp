// SPDX-License-Identifier: Apache-2.0
#include "libmge/comm/announcement.h"

#include <algorithm>
#include <cstring>

#include "libmge/base/error.h"

namespace mge {

Announcement::Announcement(std::string_view name, size_t n) : bytes(n) {
    std::memcpy(what, name.data(), std::min(name.size(), sizeof what - 1));
}

bool Announcement::operator==(const Announcement& other) const {
    return bytes == other.bytes && std::memcmp(what, other.what, sizeof what) == 0;
}

void Announcement::require_same(Announcement theirs, int rank) const {
    theirs.what[sizeof theirs.what - 1] = 0;
    if (theirs == *this) return;
    throw UserError(text("process ", rank, " is at another exchange: '", theirs.what, "' with ", theirs.bytes,
                         " bytes, here it is '", what, "' with ", bytes,
                         "; all processes of a group have to exchange the same, in the ",
                         "same order, with tensors of one shape and dtype"));
}

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>

namespace mge {

// Precedes the bytes of a transfer, so that processes at different exchanges notice it before data moves.
struct Announcement {
    uint64_t bytes = 0;
    char what[120] = {};  // truncated if longer; ends with a zero

    Announcement() = default;
    Announcement(std::string_view name, size_t n);
    bool operator==(const Announcement& other) const;

    // Throws UserError, naming both exchanges, if the announcement of process `rank` is another one.
    void require_same(Announcement theirs, int rank) const;
};

}  // namespace mge

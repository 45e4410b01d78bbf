// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libmge/base/api.h"

namespace mge {

// Describes an exchange. All processes of its group have to name the same one.
class MGE_API ExchangeInfo {
public:
    struct Parts {
        std::string operation;
        std::string dtype = {};           // the tensor that all processes give or get; empty: bytes
        std::vector<int64_t> shape = {};  // its dimensions
        std::vector<int64_t> group = {};  // ranks, in the order of the group
        size_t bytes = 0;                 // size of this process's tensor; may differ between processes
    };
    explicit ExchangeInfo(Parts parts);

    const Parts& parts() const { return parts_; }
    // "all_reduce_sum of float32 (3) in processes (0, 1)"
    const std::string& label() const { return label_; }
    // Hash of the label, which is the same in all processes of one version.
    uint64_t hash() const { return hash_; }

private:
    Parts parts_;
    std::string label_;
    uint64_t hash_;
};

// Begins the first message of an exchange between two processes. Both compare it before data moves.
struct ExchangeHeader {
    uint64_t hash = 0, sequence = 0;
    char label[240] = {};  // truncated if longer; ends with a zero

    ExchangeHeader() = default;
    ExchangeHeader(const ExchangeInfo& info, uint64_t sequence);

    // Throws UserError, naming both exchanges, if the header of process `rank` is of another one.
    void require_same(const ExchangeHeader& theirs, int rank) const;
};

}  // namespace mge

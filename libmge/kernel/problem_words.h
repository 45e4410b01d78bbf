// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "libmge/base/hash.h"
#include "libmge/kernel/algorithm.h"

namespace mge {

// A whole problem, including its devices, as numbers: equal only for equal problems. For tables in memory,
// which are queried far more often than a problem is stored or printed: Problem::key() costs ten times as
// much.
using ProblemWords = std::vector<uint64_t>;
MGE_API ProblemWords problem_words(const Problem& problem);

struct HashWords {
    size_t operator()(const ProblemWords& words) const {
        return checksum(words.data(), words.size() * sizeof(uint64_t));
    }
};

}  // namespace mge

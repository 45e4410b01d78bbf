// SPDX-License-Identifier: Apache-2.0
#pragma once
// A fuzz target is one reader and three functions, which each source beside this one defines. entry.cpp makes
// libFuzzer's entry points of them. The program links libFuzzer, or driver.cpp where there is none.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "tests/fuzz/random.h"

namespace mge::fuzz {

using Bytes = std::span<const std::byte>;

inline constexpr size_t largest_input = 64 << 10;

// Reads the input and uses it as a user would. Faults of the input are mge::Error; InternalError, any other
// exception, a signal, a hang and memory beyond the limit are findings.
void try_input(Bytes input);

// Inputs to start from.
std::vector<std::string> seeds();

// Changes the input in a way that suits its format, and repairs checksums and lengths, so that most changes
// reach the later parts.
void mutate(std::string& input, Random& random);

}  // namespace mge::fuzz

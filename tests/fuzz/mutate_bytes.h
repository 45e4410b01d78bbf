// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "tests/fuzz/random.h"

namespace mge::fuzz {

// Some change of the bytes, whatever they mean: a bit, a byte, an integer, a piece moved or missing.
void mutate_bytes(std::string& bytes, Random& random);
// An aligned 32- or 64-bit integer becomes an extreme, a neighbouring, or another integer of these bytes:
// what moves offsets, lengths and counts of tables.
void mutate_integer(std::string& bytes, Random& random);
// A piece of `other` takes the place of a piece of these bytes.
void splice(std::string& bytes, std::string_view other, Random& random);
// One of these three, most often an integer.
void mutate_tables(std::string& bytes, std::span<const std::string> others, Random& random);

// JSON and other text: a word becomes one that readers stumble over, a piece is repeated or missing.
void mutate_text(std::string& text, Random& random);
// Text for a name: long, empty, escapes, no UTF-8.
std::string hostile_name(Random& random);

}  // namespace mge::fuzz

// SPDX-License-Identifier: Apache-2.0
#include "libmge/model/crypt/megengine_stream.h"

#include <span>
#include <utility>

#include "libmge/model/crypt/secret_bytes.h"

namespace mge {
namespace {

constexpr int discarded_bytes = 768;
// Bytes 55 92 50 244 155 89 39 33 and 101 25 109 30 242 85 3 136, read as little-endian words.
constexpr uint64_t word_factor = 0x2127599bf4325c37, state_factor = 0x880355f21e6d1965;

}  // namespace

MegengineStream::MegengineStream(uint64_t key) {
    for (size_t k = 0; k < state_.size(); ++k) state_[k] = uint8_t(k);
    uint8_t j = 0;
    for (size_t k = 0; k < state_.size(); ++k) {
        j = uint8_t(j + state_[k] + uint8_t(key >> (8 * (k % 8))));
        std::swap(state_[k], state_[j]);
    }
    for (int n = 0; n < discarded_bytes; ++n) next_byte();
    for (int n = next_byte(); n > 0; --n) next_byte();
}

MegengineStream::~MegengineStream() { wipe(std::as_writable_bytes(std::span(state_))); }

uint8_t MegengineStream::next_byte() {
    const uint8_t a = state_[++i_];
    j_ = uint8_t(j_ + a);
    const uint8_t b = state_[j_];
    state_[i_] = b;
    state_[j_] = a;
    const auto c = uint8_t(state_[uint8_t((i_ << 5) ^ (j_ >> 3))] + state_[uint8_t((j_ << 5) ^ (i_ >> 3))]);
    return uint8_t((state_[uint8_t(a + b)] + state_[uint8_t(c ^ 0xaa)]) ^ state_[uint8_t(j_ + b)]);
}

uint64_t MegengineStream::next() {
    uint64_t word = 0;
    for (int n = 0; n < 8; ++n) word |= uint64_t(next_byte()) << (8 * n);
    return word;
}

void MegengineHash::feed(uint64_t word) {
    word ^= word >> 23;
    word *= word_factor;
    word ^= word >> 47;
    value_ ^= word;
    value_ *= state_factor;
}

}  // namespace mge

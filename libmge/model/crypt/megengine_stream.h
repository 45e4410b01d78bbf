// SPDX-License-Identifier: Apache-2.0
#pragma once
// The stream cipher and the hash of MegEngine Lite's RC4 family. They are neither RC4 nor anything of a
// standard, so no library has them.

#include <array>
#include <cstdint>

namespace mge {

// An RC4 state with another output function ("RC4+"), initialised with an 8-byte key; its first 768 bytes and
// a few more, whose number depends on the key, are discarded.
class MegengineStream {
public:
    explicit MegengineStream(uint64_t key);
    ~MegengineStream();
    MegengineStream(const MegengineStream&) = delete;
    MegengineStream& operator=(const MegengineStream&) = delete;
    uint64_t next();  // 8 bytes as a little-endian word

private:
    uint8_t next_byte();
    std::array<uint8_t, 256> state_;
    uint8_t i_ = 0, j_ = 0;
};

// A 64-bit hash that is fed words; not a cryptographic one.
class MegengineHash {
public:
    explicit MegengineHash(uint64_t seed) : value_(seed) {}
    void feed(uint64_t word);
    uint64_t value() const { return value_; }

private:
    uint64_t value_;
};

}  // namespace mge

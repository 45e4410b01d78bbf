// SPDX-License-Identifier: Apache-2.0
#pragma once
// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): a function from a
// counter and a key to four words of random bits, so that every element can be computed independently.

namespace mge {

// Constants of the method. In each round the words of the key grow by the steps.
enum : unsigned { philox_rounds = 10, philox_step0 = 0x9E3779B9, philox_step1 = 0xBB67AE85 };
enum : unsigned long long { philox_factor0 = 0xD2511F53, philox_factor1 = 0xCD9E8D57 };

struct PhiloxWords {
    unsigned w0, w1, w2, w3;
};

constexpr PhiloxWords philox(unsigned long long block, unsigned counter, unsigned stream, unsigned key) {
    unsigned c0 = unsigned(block), c1 = unsigned(block >> 32), c2 = counter, c3 = stream;
    unsigned k0 = key, k1 = 0;
    for (unsigned round = 0; round < philox_rounds; ++round) {
        unsigned long long p0 = philox_factor0 * c0, p1 = philox_factor1 * c2;
        unsigned n0 = unsigned(p1 >> 32) ^ c1 ^ k0, n2 = unsigned(p0 >> 32) ^ c3 ^ k1;
        c1 = unsigned(p1);
        c3 = unsigned(p0);
        c0 = n0;
        c2 = n2;
        k0 += philox_step0;
        k1 += philox_step1;
    }
    return {c0, c1, c2, c3};
}

// [0, 1) in steps of 2^-24, all of them exact.
constexpr float philox_uniform(unsigned bits) { return float(bits >> 8) * 0x1p-24f; }
// (0, 1]: safe to take the logarithm of.
constexpr float philox_positive(unsigned bits) { return (float(bits >> 8) + 1) * 0x1p-24f; }

}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
// Random numbers of a GPU are those of the CPU.
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"

namespace mge::test {
namespace {

TEST(CudaRandom, UniformNumbersAreTheSameBits) {
    Tensor state = make_tensor(DType::i32, {2}, {5, 6});
    ops::Uniform::Params params{.shape = {1003}, .low = -0.3, .high = 7.1};
    Tensor there = ops::uniform(to_device(state, other_device().id), params);
    EXPECT_EQ(values_of(to_host(there)), values_of(ops::uniform(state, params)));
}

// More numbers than a block swaps at once, and so few that all swaps meet.
TEST(CudaRandom, PermutationsAreTheSame) {
    InputSpec state{.shape = {2}, .dtype = DType::i32, .values = {5, 6}};
    for (int64_t n : {0, 1, 2, 33, 2048})
        for (DType dtype : {DType::i32, DType::i64, DType::f16})
            check_op<ops::Permutation>({.n = n, .dtype = dtype}, {state});
}

}  // namespace
}  // namespace mge::test

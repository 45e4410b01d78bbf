// SPDX-License-Identifier: Apache-2.0
// Random graphs on a GPU, at once and compiled, have the bits that they have on the CPU.
#include <gtest/gtest.h>

#include "tests/compile/random_graphs.h"
#include "tests/cuda/emulation.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

DeviceId gpu() { return other_device().id; }

void expect_equal(const Tensors& got, const Tensors& expected, const char* how) {
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].spec(), expected[i].spec()) << "output " << i;
        EXPECT_EQ(values_of(to_host(got[i])), values_of(expected[i])) << "output " << i << ", " << how;
    }
}

TEST(CudaRandomGraphs, HaveTheBitsOfTheCpu) {
    // The emulated GPU's compiler of fused kernels is slow.
    for (uint32_t seed = 0; seed < (is_emulated ? 60 : 200); ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        Shape a{int64_t(random() % 5 + 1), int64_t(random() % 5 + 1)}, b{a[1], a[0]};
        Tensors inputs{random_tensor(a, random), random_tensor(b, random)}, there;
        for (auto& x : inputs) there.push_back(to_device(x, gpu()));
        Tensors expected = random_body(inputs, seed);
        expect_equal(random_body(there, seed, gpu()), expected, "at once");
        Graph graph =
            record({inputs[0].spec(), inputs[1].spec()}, [&](auto& x) { return random_body(x, seed); });
        for (int level : {0, 1, 2}) {
            if (is_emulated && level == 2 && seed % 10) continue;
            CompileOptions options;
            options.device = gpu();
            options.level = level;
            expect_equal(Executable(graph, options).run(there), expected, text("level ", level).c_str());
        }
    }
}

}  // namespace
}  // namespace mge::test

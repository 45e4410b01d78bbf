// SPDX-License-Identifier: Apache-2.0
// Epilogues that passes fuse into the products of a program.
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

// Products of narrow integers are int32, and so is what is added to them.
TEST(CudaEpilogue, AddendsOfIntegerProductsMayHaveTheWidthOfTheSum) {
    Tensor x = make_tensor(DType::i8, {2, 3}, {1, -2, 3, 100, 50, -128});
    Tensor weight = make_tensor(DType::i8, {3, 2}, {5, -6, 7, 8, 127, -128});
    Tensor bias = make_tensor(DType::i32, {2}, {70'000, -9'999}),
           more = make_tensor(DType::i32, {2, 2}, {1, 2, 3, -400'000});
    auto added = [&](const Tensor& y, bool has_more) {
        Tensor sum = ops::add(y, bias);
        return has_more ? ops::add(sum, more) : sum;
    };
    for (bool has_more : {false, true}) {
        auto expected = values_of(added(ops::matmul(x, weight), has_more));
        Graph graph = record({x.spec()}, [&](const Tensors& in) {
            return Tensors{added(ops::matmul(in[0], weight), has_more)};
        });
        CompileOptions options;
        options.device = other_device().id;
        EXPECT_EQ(
            values_of(to_host(Executable(graph, options).run(Tensors{to_device(x, options.device)})[0])),
            expected);
    }
}

}  // namespace
}  // namespace mge::test

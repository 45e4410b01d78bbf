// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "libmge/graph/footprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "libmge/mge.h"
#include "libmge/op/subgraph.h"

namespace mge {
namespace {

using testing::Eq;
using testing::Optional;

TensorSpec f32(Shape shape) { return {DType::f32, shape, {}}; }

// Returns the footprint of the last node of a graph made by `make` from inputs with these specs.
Footprint footprint_of(const TensorSpecs& inputs, const std::function<Tensor(const Tensors&)>& make) {
    GraphBuilder builder;
    Tensors tensors;
    for (auto& spec : inputs) tensors.push_back(builder.input(spec, text("x", tensors.size())));
    {
        InterpreterScope scope(builder);
        builder.set_outputs({make(tensors)});
    }
    Graph graph = builder.take();
    return footprint(graph, graph.nodes().back());
}

void expect(const Footprint& got, double operations, double bytes) {
    EXPECT_THAT(got.operations, Optional(operations));
    EXPECT_THAT(got.bytes, Optional(bytes));
}

// Each step of a loop, the dearer way of a branch.
TEST(Footprint, IncludesNestedGraphs) {
    auto squares = [](int times) {
        return make_subgraph(TensorSpecs{f32({4})}, [times](std::span<const Tensor> in) -> Tensors {
            Tensor x = in[0];
            for (int i = 0; i < times; ++i) x = ops::mul(x, x);
            return {x};
        });
    };
    expect(footprint_of({f32({4})},
                        [&](auto& x) { return ops::scan({x[0]}, {.body = squares(2), .length = 5})[0]; }),
           5 * 2 * 4, 5 * 2 * 3 * 16);
    expect(footprint_of({f32({1}), f32({4})},
                        [&](auto& x) {
                            return ops::cond({x[0], x[1]}, {squares(1), squares(3)})[0];
                        }),
           3 * 4, 3 * 3 * 16);
    auto loop = footprint_of({f32({1})}, [&](auto& x) {
        auto body = make_subgraph(TensorSpecs{f32({1})},
                                  [](std::span<const Tensor> in) -> Tensors { return {in[0]}; });
        return ops::while_loop({x[0]}, {body, body})[0];
    });
    EXPECT_EQ(loop.operations, std::nullopt) << "only a run can tell";
}

TEST(Footprint, CountsMultiplyAddsTwice) {
    expect(footprint_of({f32({4, 12}), f32({24, 12})},
                        [](auto& x) { return ops::matmul(x[0], x[1], {.transpose_b = true}); }),
           2304, 1728);
    expect(footprint_of({f32({7, 4, 12}), f32({12, 3}), f32({3})},
                        [](auto& x) { return ops::matmul(x[0], x[1], x[2]); }),
           2 * 7 * 4 * 3 * 12 + 7 * 4 * 3, 4 * (7 * 4 * 12 + 12 * 3 + 3 + 7 * 4 * 3));
    expect(footprint_of({f32({1, 3, 32, 32}), f32({8, 3, 3, 3})},
                        [](auto& x) {
                            return ops::conv2d(x[0], x[1], {.padding = {1, 1}});
                        }),
           2.0 * 8 * 32 * 32 * 27, 4 * (3 * 1024 + 8 * 27 + 8 * 1024));
    expect(footprint_of({f32({1, 8, 5, 5}), f32({4, 3, 2, 3, 3})},
                        [](auto& x) { return ops::conv2d(x[0], x[1], {.groups = 4}); }),
           2.0 * 12 * 9 * 18, 4 * (8 * 25 + 12 * 18 + 12 * 9));
}

TEST(Footprint, CountsElementwiseByOperands) {
    expect(footprint_of({f32({4, 5}), f32({5})}, [](auto& x) { return ops::add(x[0], x[1]); }), 20, 180);
    expect(footprint_of({f32({4, 5})}, [](auto& x) { return ops::exp(x[0]); }), 20, 160);
    expect(footprint_of({{DType::boolean, {4, 5}, {}}, f32({4, 5}), f32({4, 5})},
                        [](auto& x) { return ops::where(x[0], x[1], x[2]); }),
           40, 20 + 240);
}

TEST(Footprint, AddsTheStepsOfAFusedOperator) {
    ops::FusedProgram program(2);
    auto none = ops::Add::info.params.make();
    int sum = program.add(ops::Add::info, none.get(), {0, 1});
    int two = program.constant(2, DType::f32);
    program.add(ops::Mul::info, none.get(), {sum, two});
    expect(footprint_of({f32({4, 5}), f32({5})},
                        [&](auto& x) {
                            return ops::fused_elementwise({x[0], x[1]}, {.program = program.text()});
                        }),
           40, 180);
}

TEST(Footprint, CountsWindowsOfPooling) {
    auto image = f32({1, 16, 8, 8});
    expect(footprint_of({image},
                        [](auto& x) {
                            return ops::avg_pool2d(x[0], {.kernel = {8, 8}, .stride = {8, 8}});
                        }),
           1024, 4160);
    expect(footprint_of({image},
                        [](auto& x) { return ops::adaptive_avg_pool2d(x[0], {.height = 2, .width = 2}); }),
           1024, 4 * (1024 + 64));
}

TEST(Footprint, CountsMovedBytes) {
    expect(footprint_of({f32({4, 5})}, [](auto& x) { return ops::reshape(x[0], {.shape = {20}}); }), 0, 0);
    expect(footprint_of({f32({4, 5})},
                        [](auto& x) {
                            return ops::transpose(x[0], {.pattern = {1, 0}});
                        }),
           20, 160);
    // Three rows of a long table.
    expect(footprint_of({f32({1000, 8}), {DType::i32, {3}, {}}},
                        [](auto& x) { return ops::embedding(x[0], x[1]); }),
           24, 4 * (24 + 3 + 24));
    expect(footprint_of({f32({4, 5})}, [](auto& x) { return ops::sum(x[0], {.axes = {1}}); }), 20, 96);
}

TEST(Footprint, CountsDeclaredOperations) {
    TensorSpec i2{DType::i32, {2}, {}}, i3{DType::i32, {3}, {}};
    // Five pivots, each with a multiply-add per element.
    expect(footprint_of({f32({2, 5, 5})}, [](auto& x) { return ops::matinv(x[0]); }), 2 * 5 * 50, 400);
    // 2 * 3 labels and the blanks around them, at 7 steps of 2 samples.
    expect(footprint_of({f32({7, 2, 5}), i2, {DType::i32, {2, 3}, {}}, i2},
                        [](auto& x) { return ops::ctc_loss(x[0], x[1], x[2], x[3]); }),
           3 * 7 * 14, 4 * (70 + 2 + 6 + 2 + 2));
    expect(
        footprint_of({f32({1, 3, 8, 8}), f32({1, 4, 4, 2})}, [](auto& x) { return ops::remap(x[0], x[1]); }),
        7 * 48, 4 * (192 + 32 + 48));
    expect(footprint_of({f32({1, 3, 8, 8}), f32({1, 4, 4, 2})},
                        [](auto& x) {
                            return ops::remap(x[0], x[1], {.interpolation = ops::Interpolation::nearest});
                        }),
           48, 4 * (192 + 32 + 48));
    auto image = f32({1, 2, 4, 4}), pooled = f32({1, 2, 2, 2});
    ops::MaxPool2d::Params halves{.kernel = {2, 2}, .stride = {2, 2}};
    expect(footprint_of({image, pooled, image},
                        [&](auto& x) { return ops::max_pool2d_select(x[0], x[1], x[2], halves); }),
           4 * 8, 4 * (32 + 8 + 32 + 8));
    expect(footprint_of({i3, f32({3, 8})},
                        [](auto& x) { return ops::embedding_backward(x[0], x[1], {.num_embeddings = 100}); }),
           24, 4 * (3 + 24 + 800));
    expect(footprint_of({f32({4, 5}), f32({4, 5})}, [](auto& x) { return ops::assert_equal(x[0], x[1]); }),
           8 * 20, 160 + 4);
}

// Only the shape of x.
TEST(Footprint, OmitsExampleShapes) {
    expect(footprint_of({f32({1, 2, 4, 4}), f32({1, 2, 2, 2})},
                        [](auto& x) {
                            return ops::avg_pool2d_backward(x[0], x[1], {.kernel = {2, 2}, .stride = {2, 2}});
                        }),
           4 * 8, 4 * (8 + 32));
}

TEST(Footprint, DoesNotGuess) {
    auto sort = footprint_of({f32({4, 5})}, [](auto& x) { return ops::sort(x[0])[0]; });
    EXPECT_THAT(sort.operations, Eq(std::nullopt));
    EXPECT_THAT(sort.bytes, Optional(80.0 + 160));
    auto cells =
        footprint_of({f32({1, 2, 4, 4}), f32({3, 5})}, [](auto& x) { return ops::roi_pool2d(x[0], x[1]); });
    EXPECT_THAT(cells.operations, Eq(std::nullopt));
    EXPECT_THAT(cells.bytes, Optional(4.0 * (32 + 15 + 6)));
    auto unknown = footprint_of({f32({4, 5}), {DType::boolean, {4, 5}, {}}},
                                [](auto& x) { return ops::cond_take(x[0], x[1])[0]; });
    EXPECT_THAT(unknown.operations, Eq(std::nullopt));
    EXPECT_THAT(unknown.bytes, Eq(std::nullopt));
}

TEST(Footprint, HasAnAnswerForHugeShapes) {
    TensorSpec huge = f32({int64_t(1) << 30, int64_t(1) << 30});
    TensorSpec y = huge;
    std::array inputs{huge, huge};
    auto got = footprint(ops::Matmul::info, &*std::make_unique<ops::Matmul::Params>(), inputs, std::array{y});
    EXPECT_THAT(got.operations, Optional(2 * std::pow(2.0, 90)));
    EXPECT_THAT(got.bytes, Optional(12 * std::pow(2.0, 60)));
}

}  // namespace
}  // namespace mge

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "libmge/mge.h"
#include "libmge/ops/create/arange.h"
#include "libmge/ops/elementwise/fused/fused.h"
#include "libmge/ops/index/take.h"
#include "libmge/ops/nn/convolution/conv2d.h"
#include "libmge/ops/vision/remap.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

template <class H = Half>
Tensor halves(Shape shape, const std::vector<float>& values) {
    std::vector<H> rounded;
    for (int64_t i = 0; i < shape.numel(); ++i) rounded.emplace_back(values[size_t(i) % values.size()]);
    DType dtype = std::is_same_v<H, Half> ? DType::f16 : DType::bf16;
    return tensor_from_host({dtype, shape, {}}, rounded.data());
}
Tensor ints(const std::vector<int32_t>& values) {
    return tensor_from_host({DType::i32, {int64_t(values.size())}, {}}, values.data());
}
Tensor as(DType dtype, const Tensor& x) { return ops::convert(x, {.dtype = dtype}); }

// The dtypes that the operators of a name store, in order.
std::vector<DType> stored_by(const Graph& graph, std::string_view op) {
    std::vector<DType> dtypes;
    for (auto& node : graph.nodes())
        if (node.op->name == op) dtypes.push_back(graph.value(node.outputs[0]).spec.dtype);
    return dtypes;
}
Graph narrowed(const TensorSpecs& inputs, const Body& body) {
    Graph graph = store_as_f16(record(inputs, body), {});
    verify(graph);
    return graph;
}
using DTypeList = std::vector<DType>;

TEST(StoreAsF16, ConvertsAtTheEndsOnly) {
    ops::Conv2d::Params same{.padding = {1, 1}};
    expect_rewrite(
        store_as_f16, {f32({1, 2, 5, 5})},
        [&](const Tensors& x) {
            Tensor y = ops::relu(ops::conv2d(x[0], constant({4, 2, 3, 3}, {0.1f, -0.3f}), same));
            return Tensors{ops::add(y, constant({1, 4, 1, 1}, {1, 2}))};
        },
        [&](const Tensors& x) {
            Tensor half = as(DType::f16, x[0]);
            Tensor y = ops::relu(ops::conv2d(half, halves({4, 2, 3, 3}, {0.1f, -0.3f}), same));
            return Tensors{as(DType::f32, ops::add(y, halves({1, 4, 1, 1}, {1, 2})))};
        });
}

TEST(StoreAsF16, ReadsAnInputOnceForAll) {
    expect_rewrite(
        store_as_f16, {f32({4})},
        [](const Tensors& x) {
            return Tensors{ops::relu(x[0]), ops::neg(x[0])};
        },
        [](const Tensors& x) {
            Tensor half = as(DType::f16, x[0]);
            Tensor a = ops::relu(half), b = ops::neg(half);
            return Tensors{as(DType::f32, a), as(DType::f32, b)};
        });
}

// A result that cannot be inferred is compared at run time with its spec in the graph.
TEST(StoreAsF16, DoesNotCorrectWrongDTypes) {
    for (DType declared : {DType::u8, DType::f32}) {
        Graph graph = record({f32({4})}, [](const Tensors& x) {
            Tensor some = ops::cond_take(x[0], ops::greater(x[0], constant({}, {0})))[0];
            return Tensors{ops::less(some, constant({}, {1}))};
        });
        graph.value(graph.outputs()[0]).spec.dtype = declared;
        Graph stored = store_as_f16(graph, {});
        EXPECT_EQ(stored.value(stored.outputs()[0]).spec.dtype, declared);
        EXPECT_EQ(stored_by(stored, "less"), DTypeList{declared});
    }
}

TEST(StoreAsF16, KeepsOtherDTypes) {
    auto body = [](const Tensors& x) {
        return Tensors{ops::add(x[0], ints({1, 2})), ops::greater(x[0], ints({3, 4}))};
    };
    expect_rewrite(store_as_f16, {{DType::i32, {2}, {}}}, body, body);
    Graph graph = narrowed({f32({5, 3}), {DType::i32, {2}, {}}},
                           [](const Tensors& x) { return Tensors{ops::take(x[0], x[1], {.axes = {0}})}; });
    EXPECT_EQ(graph.value(graph.nodes()[1].inputs[1]).spec.dtype, DType::i32) << "the index";
    EXPECT_EQ(stored_by(graph, "take"), DTypeList{DType::f16});
}

TEST(StoreAsF16, SumsAndPowersAreF32UpToTheNextProduct) {
    // 90000 and 4.5e6 are beyond f16.
    Graph graph = narrowed({f32({50, 8})}, [](const Tensors& x) {
        Tensor total = ops::sum(ops::square(ops::relu(x[0])), {.axes = {0}, .keepdims = true});
        Tensor root = ops::sqrt(total);
        return Tensors{ops::matmul(ops::div(ops::relu(x[0]), root), constant({8, 4}, {0.5f}))};
    });
    EXPECT_EQ(stored_by(graph, "square"), DTypeList{DType::f32});
    EXPECT_EQ(stored_by(graph, "sum"), DTypeList{DType::f32});
    EXPECT_EQ(stored_by(graph, "sqrt"), DTypeList{DType::f32}) << "no larger than the sum";
    EXPECT_EQ(stored_by(graph, "div"), DTypeList{DType::f16}) << "larger than the root";
    EXPECT_EQ(stored_by(graph, "matmul"), DTypeList{DType::f16});
    Tensor x = constant({50, 8}, {300, 200, 100, 50, 25, 12, 6, 3});
    CompileOptions options;
    options.level = 0;
    options.passes["store_as_f16"] = true;
    Graph source = record({f32({50, 8})}, [](const Tensors& x) {
        return Tensors{ops::sqrt(ops::sum(ops::square(ops::relu(x[0])), {.axes = {0}}))};
    });
    Tensor root = Executable(source, options).run({&x, 1})[0];
    EXPECT_NEAR(root.data<float>()[0], 300 * std::sqrt(50.0), 1e-2);
}

TEST(StoreAsF16, MeansAndStatisticsStayF32) {
    Graph graph = narrowed({f32({2, 3, 4, 4})}, [](const Tensors& x) {
        Tensor ones = constant({3}, {1});
        Tensor y = ops::batch_norm(x[0], ones, ones, ones, ones, {.training = false})[0];
        return Tensors{ops::matmul(ops::mean(y, {.axes = {2, 3}}), constant({3, 5}, {1}))};
    });
    auto& norm = *std::ranges::find_if(graph.nodes(), [](auto& n) { return n.op->name == "batch_norm"; });
    EXPECT_EQ(graph.value(norm.inputs[0]).spec.dtype, DType::f16);
    EXPECT_EQ(graph.value(norm.inputs[4]).spec.dtype, DType::f32) << "the variance";
    EXPECT_EQ(graph.value(norm.outputs[0]).spec.dtype, DType::f16);
    EXPECT_EQ(stored_by(graph, "mean"), DTypeList{DType::f32});
}

TEST(StoreAsF16, PositionsAreExact) {
    Graph graph = narrowed({f32({1, 1, 8, 8}), f32({1, 4, 4, 2})}, [](const Tensors& x) {
        Tensor map = ops::mul(ops::add(x[1], constant({1}, {0.5f})), constant({1}, {7.3f}));
        Tensor index = ops::convert(ops::floor(ops::mul(x[1], constant({1}, {3}))), {.dtype = DType::i32});
        return Tensors{ops::relu(ops::remap(ops::relu(x[0]), map)), index};
    });
    EXPECT_EQ(stored_by(graph, "mul"), (DTypeList{DType::f32, DType::f32}));
    EXPECT_EQ(stored_by(graph, "floor"), DTypeList{DType::f32});
    EXPECT_EQ(stored_by(graph, "remap"), DTypeList{DType::f16});
    EXPECT_EQ(stored_by(graph, "relu"), (DTypeList{DType::f16, DType::f16}));
}

TEST(StoreAsF16, ConstantsStayFiniteAndAreNotLost) {
    Graph graph = narrowed({f32({4})}, [](const Tensors& x) {
        Tensor masked = ops::add(ops::relu(x[0]), constant({4}, {-1e9f, 0}));
        return Tensors{masked, ops::add(ops::neg(x[0]), constant({1}, {1e-12f}))};
    });
    EXPECT_EQ(stored_by(graph, "add"), (DTypeList{DType::f16, DType::f32})) << "1e-12 would be 0";
    auto& masked = *std::ranges::find_if(graph.nodes(), [](auto& n) { return n.op->name == "add"; });
    EXPECT_EQ(float(graph.value(masked.inputs[1]).constant.data<Half>()[0]), -65504.f);
}

TEST(StoreAsF16, FusedProgramsComputeAsBefore) {
    CompileOptions options;
    options.switches.store_half = true;
    Graph graph = record({f32({64})}, [](const Tensors& x) {
        Tensor scaled = ops::mul(ops::add(x[0], constant({1}, {1e-12f})), constant({1}, {1e9f}));
        return Tensors{
            ops::relu(ops::reshape(ops::neg(ops::mul(scaled, constant({1}, {2}))), {.shape = {8, 8}}))};
    });
    auto program = Program::compile(graph, options);
    std::vector<DType> stored;
    for (auto& step : program->steps())
        if (step.op == "fused_elementwise")
            stored.push_back(program->values()[size_t(step.outputs[0])].spec.dtype);
    EXPECT_EQ(stored, DTypeList{DType::f16});
    Tensor x = constant({64}, {-1, 0});
    Tensor y = Executable(graph, options).run({&x, 1})[0];
    EXPECT_EQ(y.data<float>()[0], 65504.f) << "beyond f16, and finite all the same";
    EXPECT_EQ(y.data<float>()[1], 0.f);
}

TEST(StoreAsF16, RunsOnRequestOnly) {
    Graph graph = record({f32({4})}, [](const Tensors& x) { return Tensors{ops::relu(x[0])}; });
    for (int level : {0, 2, 3}) EXPECT_EQ(run_passes(graph, {.level = level}).nodes().size(), 1u);
    EXPECT_EQ(run_passes(graph, {.passes = {{"store_as_f16", true}}, .level = 0}).nodes().size(), 3u);
}

// bf16 has the range of f32.
TEST(StoreAsBf16, ConvertsAtTheEndsOnly) {
    expect_rewrite(
        store_as_bf16, {f32({4})},
        [](const Tensors& x) {
            Tensor y = ops::add(ops::relu(x[0]), constant({4}, {-1e9f, 1e-12f}));
            return Tensors{ops::neg(y)};
        },
        [](const Tensors& x) {
            Tensor summand = halves<BFloat16>({4}, {-1e9f, 1e-12f});
            Tensor y = ops::add(ops::relu(as(DType::bf16, x[0])), summand);
            return Tensors{as(DType::f32, ops::neg(y))};
        });
}

TEST(StoreAsBf16, IsF32WhereF16Is) {
    Graph graph = store_as_bf16(record({f32({50, 8})},
                                       [](const Tensors& x) {
                                           Tensor total = ops::sum(ops::square(x[0]), {.axes = {0}});
                                           return Tensors{ops::matmul(total, constant({8, 4}, {0.5f}))};
                                       }),
                                {});
    EXPECT_EQ(stored_by(graph, "sum"), DTypeList{DType::f32});
    EXPECT_EQ(stored_by(graph, "matmul"), DTypeList{DType::bf16});
}

TEST(StoreAsF16, SupportsRunTimeShapes) {
    Graph graph = record({f32({6}), f32({6})}, [](const Tensors& x) {
        return Tensors{ops::relu(ops::cond_take(ops::neg(x[0]), ops::greater(x[0], x[1]))[0])};
    });
    CompileOptions options;
    options.switches.compute_half = true;
    Tensors inputs{constant({6}, {-3, 1, -2, 5, 0, 4}), constant({6}, {-4, 2, -3, 3, -1, 9})};
    Tensor y = Executable(graph, options).run(inputs)[0];
    ASSERT_EQ(y.shape(), Shape{4});
    EXPECT_EQ(y.dtype(), DType::f32);
    EXPECT_EQ(y.data<float>()[0], 3.f);
    EXPECT_EQ(y.data<float>()[2], 0.f);
}

}  // namespace
}  // namespace mge::test

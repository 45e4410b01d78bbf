// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>

#include "libmge/graph/rewrite.h"
#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
const ops::Transpose::Params swap_heads{.pattern = {0, 2, 1, 3}}, swap_both{.pattern = {0, 2, 3, 1}};
// 2 items, 3 heads, 4 queries or 5 keys, of width 8 and values of width 6.
const TensorSpecs heads_first{f32({2, 3, 4, 8}), f32({2, 3, 5, 8}), f32({2, 3, 5, 6})};
const TensorSpecs side_by_side{f32({2, 4, 3, 8}), f32({2, 5, 3, 8}), f32({2, 5, 3, 6})};

Tensor number(double value) { return constant({}, {float(value)}); }
Tensor scores(const Tensor& q, const Tensor& k) { return ops::matmul(q, k, {.transpose_b = true}); }
// With scores of one factor.
Tensor chain(const Tensors& x, double factor = 0.5) {
    return ops::matmul(ops::softmax(ops::mul(scores(x[0], x[1]), number(factor))), x[2]);
}
Tensor attention(const Tensors& x, const ops::AttentionParams& p) { return ops::attention(x, p)[0]; }

void expect_attention(const TensorSpecs& inputs, const Body& before, const Body& after) {
    expect_rewrite(fuse_attention, inputs, before, after);
}
void expect_left(const TensorSpecs& inputs, const Body& body) { expect_attention(inputs, body, body); }

Tensor noise(const Shape& shape, float first) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(first + float(i));
    return tensor_from_host(f32(shape), values.data());
}
// The results of a body equal those of its graph after all passes.
void expect_same_numbers(const TensorSpecs& specs, const Body& body) {
    Tensors inputs;
    for (auto& spec : specs) inputs.push_back(noise(spec.shape, float(inputs.size())));
    Graph graph = record(specs, body);
    Tensor expected = body(inputs)[0], got = Executable(graph, {}).run(inputs)[0];
    ASSERT_EQ(got.spec(), expected.spec());
    for (int64_t i = 0; i < got.spec().numel(); ++i)
        EXPECT_NEAR(got.data<float>()[i], expected.data<float>()[i], 1e-5) << i;
}

TEST(FuseAttention, ScaleMayBeAnywhere) {
    auto halved = [](const Tensors& x) { return Tensors{attention(x, {.scale = 0.5})}; };
    expect_attention(
        heads_first, [](const Tensors& x) { return Tensors{chain(x)}; }, halved);
    expect_attention(
        heads_first,
        [](const Tensors& x) {
            Tensor s = ops::div(scores(ops::mul(x[0], number(4)), ops::mul(number(0.25), x[1])), number(2));
            return Tensors{ops::matmul(ops::softmax(s, {.axis = 3}), x[2])};
        },
        halved);
    expect_attention(
        heads_first,
        [](const Tensors& x) { return Tensors{ops::matmul(ops::softmax(scores(x[0], x[1])), x[2])}; },
        [](const Tensors& x) { return Tensors{attention(x, {.scale = 1})}; });
}

TEST(FuseAttention, ReadsHeadsSideBySide) {
    auto after = [](const Tensors& x) { return Tensors{attention(x, {.scale = 0.5, .side_by_side = true})}; };
    Body rows = [](const Tensors& x) {
        Tensors first;
        for (auto& operand : x) first.push_back(ops::transpose(operand, swap_heads));
        return Tensors{ops::transpose(chain(first), swap_heads)};
    };
    Body columns = [](const Tensors& x) {
        Tensor s = ops::matmul(ops::mul(ops::transpose(x[0], swap_heads), number(0.5)),
                               ops::transpose(x[1], swap_both));
        return Tensors{
            ops::transpose(ops::matmul(ops::softmax(s), ops::transpose(x[2], swap_heads)), swap_heads)};
    };
    for (auto& body : {rows, columns}) {
        expect_attention(side_by_side, body, after);
        expect_same_numbers(side_by_side, body);
    }
}

TEST(FuseAttention, TransposesColumnKeys) {
    const TensorSpecs specs{heads_first[0], side_by_side[1], heads_first[2]};
    Body before = [](const Tensors& x) {
        Tensor s = ops::matmul(x[0], ops::transpose(x[1], swap_both));
        return Tensors{ops::matmul(ops::softmax(s), x[2])};
    };
    expect_attention(specs, before, [](const Tensors& x) {
        return Tensors{attention({x[0], ops::transpose(x[1], swap_heads), x[2]}, {.scale = 1})};
    });
    expect_same_numbers(specs, before);
    expect_attention(
        heads_first,
        [](const Tensors& x) {
            Tensor s = ops::matmul(x[0], ops::transpose(x[1], {.pattern = {0, 1, 3, 2}}));
            return Tensors{ops::matmul(ops::softmax(s), x[2])};
        },
        [](const Tensors& x) { return Tensors{attention(x, {.scale = 1})}; });
}

Body masked(const Tensor& mask) {
    return [=](const Tensors& x) {
        Tensor s = ops::add(mask, ops::mul(scores(x[0], x[1]), number(0.5)));
        return Tensors{ops::matmul(ops::softmax(s), x[2])};
    };
}

TEST(FuseAttention, FusesMasksThatDoNotHideAll) {
    const Tensor mask = constant({4, 5}, {0, -infinite, 1, -infinite, -2, -infinite, 0.5f});
    expect_attention(heads_first, masked(mask), [=](const Tensors& x) {
        return Tensors{attention({x[0], x[1], x[2], mask}, {.scale = 0.5})};
    });
    expect_same_numbers(heads_first, masked(mask));
    std::vector<float> values(20, -infinite);
    for (int i = 0; i < 15; ++i) values[size_t(i)] = 0;
    expect_left(heads_first, masked(constant({4, 5}, values)));  // the last query sees nothing
    expect_left(heads_first, masked(constant({3, 1, 1}, {0, -infinite, 0})));
    expect_left(heads_first, masked(constant({1, 1, 1, 1, 5}, {0})));  // which makes five axes
    TensorSpecs specs = heads_first;
    specs.push_back(f32({4, 5}));
    expect_left(specs, [](const Tensors& x) { return masked(x[3])(x); });
}

// Queries see as many keys more than their place as there are more keys; from the first, none.
Tensor order_mask(const Shape& shape, int64_t more, float hidden) {
    const int64_t queries = shape[shape.rank() - 2], keys = shape[shape.rank() - 1];
    std::vector<float> values(size_t(shape.numel()));
    for (int64_t i = 0; i < shape.numel(); ++i)
        values[size_t(i)] = i % keys <= i / keys % queries + more ? 0 : hidden;
    return constant(shape, values);
}
Tensor order_choice(int64_t more, bool shown) {
    bool data[20];
    for (int i = 0; i < 20; ++i) data[i] = (i % 5 <= i / 5 + more) == shown;
    return tensor_from_host({DType::boolean, {4, 5}, {}}, data);
}

TEST(FuseAttention, MasksOfTimeAreCausal) {
    const Body from_start = [](const Tensors& x) {
        return Tensors{attention(x, {.scale = 0.5, .causal = true})};
    };
    const Body from_end = [](const Tensors& x) {
        return Tensors{attention(x, {.scale = 0.5, .causal = true, .from_end = true})};
    };
    for (float hidden : {-infinite, -1e9F, std::numeric_limits<float>::lowest()})
        for (const Shape& shape : {Shape{4, 5}, Shape{1, 1, 4, 5}, Shape{2, 1, 4, 5}}) {
            expect_attention(heads_first, masked(order_mask(shape, 0, hidden)), from_start);
            expect_attention(heads_first, masked(order_mask(shape, 1, hidden)), from_end);
            expect_same_numbers(heads_first, masked(order_mask(shape, 0, hidden)));
            expect_same_numbers(heads_first, masked(order_mask(shape, 1, hidden)));
        }
    auto left_as_mask = [](const TensorSpecs& specs, const Tensor& mask) {
        expect_attention(specs, masked(mask), [=](const Tensors& x) {
            return Tensors{attention({x[0], x[1], x[2], mask}, {.scale = 0.5})};
        });
    };
    left_as_mask(heads_first, order_mask({4, 5}, 2, -infinite));
    left_as_mask(heads_first, order_mask({4, 5}, 0, -100));
    // One row may stand for all queries.
    left_as_mask(heads_first, order_mask({1, 5}, 0, -infinite));
    left_as_mask({f32({2, 3, 1, 8}), heads_first[1], heads_first[2]}, order_mask({1, 5}, 0, -infinite));
}

TEST(FuseAttention, ChoicesBetweenScoresAndNothingAreCausal) {
    auto chosen = [](const Tensor& mask, double otherwise, bool shown) -> Body {
        return [=](const Tensors& x) {
            Tensor s = ops::mul(scores(x[0], x[1]), number(0.5));
            Tensor seen =
                shown ? ops::where(mask, s, number(otherwise)) : ops::where(mask, number(otherwise), s);
            return Tensors{ops::matmul(ops::softmax(seen), x[2])};
        };
    };
    for (bool shown : {true, false}) {
        expect_attention(heads_first, chosen(order_choice(0, shown), -infinite, shown), [](const Tensors& x) {
            return Tensors{attention(x, {.scale = 0.5, .causal = true})};
        });
        const Body from_end = chosen(order_choice(1, shown), std::numeric_limits<float>::lowest(), shown);
        expect_attention(heads_first, from_end, [](const Tensors& x) {
            return Tensors{attention(x, {.scale = 0.5, .causal = true, .from_end = true})};
        });
        expect_same_numbers(heads_first, from_end);
        expect_left(heads_first, chosen(order_choice(0, !shown), -infinite, shown));
        expect_left(heads_first, chosen(order_choice(0, shown), -100, shown));
        expect_left(heads_first, chosen(order_choice(2, shown), -infinite, shown));
    }
}

// As models say it whose keys have fewer heads: each of them behind itself, so many times.
Tensor repeated(const Tensor& x, int head) {
    IntList split(x.shape().begin(), x.shape().end()), joined = split;
    split.insert(split.begin() + head + 1, 1);
    IntList wide = split;
    wide[size_t(head) + 1] = 2;
    joined[size_t(head)] *= 2;
    return ops::reshape(ops::broadcast_to(ops::reshape(x, {.shape = split}), {.shape = wide}),
                        {.shape = joined});
}

TEST(FuseAttention, SharesHeadsThatAreRepeated) {
    const TensorSpecs specs{f32({2, 6, 4, 8}), f32({2, 3, 5, 8}), f32({2, 3, 5, 6})};
    const Body before = [](const Tensors& x) {
        Tensor s = ops::matmul(x[0], ops::transpose(repeated(x[1], 1), {.pattern = {0, 1, 3, 2}}));
        return Tensors{ops::matmul(ops::softmax(s), repeated(x[2], 1))};
    };
    expect_attention(specs, before, [](const Tensors& x) { return Tensors{attention(x, {.scale = 1})}; });
    expect_same_numbers(specs, before);

    const TensorSpecs beside{f32({2, 4, 6, 8}), f32({2, 5, 3, 8}), f32({2, 5, 3, 6})};
    const Body rows = [](const Tensors& x) {
        Tensors first{ops::transpose(x[0], swap_heads)};
        for (size_t i : {1, 2}) first.push_back(ops::transpose(repeated(x[i], 2), swap_heads));
        return Tensors{ops::transpose(chain(first), swap_heads)};
    };
    expect_attention(beside, rows, [](const Tensors& x) {
        return Tensors{attention(x, {.scale = 0.5, .side_by_side = true})};
    });
    expect_same_numbers(beside, rows);

    // All heads behind all heads.
    const Body in_turns = [](const Tensors& x) {
        auto again = [](const Tensor& y, int64_t width) {
            Tensor two = ops::broadcast_to(ops::reshape(y, {.shape = {2, 1, 3, 5, width}}),
                                           {.shape = {2, 2, 3, 5, width}});
            return ops::reshape(two, {.shape = {2, 6, 5, width}});
        };
        return Tensors{chain({x[0], again(x[1], 8), again(x[2], 6)})};
    };
    const Graph graph = fuse_attention(record(specs, in_turns), {});
    EXPECT_EQ(graph.nodes().size(), 7U);
    expect_same_numbers(specs, in_turns);
}

// If all visible keys are hidden, a query still weighs the hidden ones.
TEST(FuseAttention, FusesMasksOfFiniteNumbers) {
    TensorSpecs specs = heads_first;
    specs.push_back(f32({2, 5}));
    auto hiding = [](double hidden) -> Body {
        return [=](const Tensors& x) {
            Tensor mask = ops::where(ops::greater(x[3], number(0.7)), number(0), number(hidden));
            Tensor wide =
                ops::broadcast_to(ops::reshape(mask, {.shape = {2, 1, 1, 5}}), {.shape = {2, 1, 4, 5}});
            return masked(wide)(x);
        };
    };
    const Body lowest = hiding(std::numeric_limits<float>::lowest());
    const Graph graph = fuse_attention(record(specs, lowest), {});
    EXPECT_EQ(graph.nodes().back().op, &ops::Attention::info);
    expect_same_numbers(specs, lowest);
    expect_left(specs, hiding(-infinite));
}

// As PyTorch's exporter writes it, so that a query that sees nothing has zeros.
TEST(FuseAttention, FusesAnyMaskIfNanBecomesZero) {
    TensorSpecs specs = heads_first;
    specs.push_back(f32({2, 1, 4, 5}));
    auto guarded = [](const Tensors& x, double otherwise) {
        Tensor w = ops::softmax(ops::add(scores(x[0], x[1]), x[3]));
        return Tensors{ops::matmul(ops::where(ops::isnan(w), number(otherwise), w), x[2])};
    };
    const Body zeros = [=](const Tensors& x) { return guarded(x, 0); };
    expect_attention(specs, zeros, [](const Tensors& x) { return Tensors{attention(x, {.scale = 1})}; });
    expect_left(specs, [=](const Tensors& x) { return guarded(x, 1); });
    const Body blind = [=](const Tensors& x) {
        Tensor mask = constant({4, 5}, {-infinite, -infinite, -infinite, -infinite, -infinite, 0, 0});
        return guarded({x[0], x[1], x[2], mask}, 0);
    };
    expect_same_numbers(heads_first, blind);
}

TEST(FuseAttention, TransposesKeysWithJoinedHeads) {
    const Body before = [](const Tensors& x) {
        Tensor columns = ops::transpose(ops::reshape(x[1], {.shape = {-1, 5, 8}}), {.pattern = {0, 2, 1}});
        Tensor s = ops::matmul(x[0], ops::reshape(columns, {.shape = {2, 3, 8, 5}}));
        return Tensors{ops::matmul(ops::softmax(s), x[2])};
    };
    expect_attention(heads_first, before,
                     [](const Tensors& x) { return Tensors{attention(x, {.scale = 1})}; });
    expect_same_numbers(heads_first, before);
    // The rows of one matrix are not those of the other.
    expect_left({f32({2, 3, 4, 5}), f32({2, 3, 8, 5}), f32({2, 3, 8, 6})}, [](const Tensors& x) {
        Tensor columns = ops::transpose(ops::reshape(x[1], {.shape = {-1, 5, 8}}), {.pattern = {0, 2, 1}});
        Tensor s = ops::matmul(x[0], ops::reshape(columns, {.shape = {2, 3, 5, 8}}));
        return Tensors{ops::matmul(ops::softmax(s), x[2])};
    });
}

TEST(FuseAttention, KeepsValuesWithOtherReaders) {
    expect_left(heads_first, [](const Tensors& x) {
        Tensor weights = ops::softmax(scores(x[0], x[1]));
        return Tensors{ops::matmul(weights, x[2]), weights};
    });
    expect_left(heads_first, [](const Tensors& x) {
        Tensor s = scores(x[0], x[1]);
        return Tensors{ops::matmul(ops::softmax(s), x[2]), s};
    });
}

TEST(FuseAttention, KeepsNearMissesOfAttention) {
    expect_left(heads_first, [](const Tensors& x) { return Tensors{chain(x, 0)}; });
    expect_left(heads_first, [](const Tensors& x) {
        return Tensors{ops::matmul(ops::softmax(scores(x[0], x[1]), {.log = true}), x[2])};
    });
    expect_left({f32({2, 3, 4, 8}), f32({2, 3, 5, 8}), f32({2, 3, 5, 6})}, [](const Tensors& x) {
        return Tensors{ops::matmul(ops::softmax(scores(x[0], x[1]), {.axis = 2}), x[2])};
    });
    expect_left({f32({2, 3, 4, 8}), f32({1, 3, 5, 8}), f32({2, 1, 5, 6})},
                [](const Tensors& x) { return Tensors{chain(x)}; });
    expect_left({f32({3, 4, 8}), f32({3, 5, 8}), f32({3, 5, 6})},
                [](const Tensors& x) { return Tensors{chain(x)}; });
    const TensorSpec half{DType::f16, {2, 3, 4, 8}, {}};
    expect_left({half, half, half}, [](const Tensors& x) {
        return Tensors{ops::matmul(ops::softmax(scores(x[0], x[1])), x[2])};
    });
}

TEST(FuseAttention, IsValidForEveryBatch) {
    PassOptions any_shape;
    any_shape.fixed_shapes = false;
    const Body before = [](const Tensors& x) { return Tensors{chain({x[0], x[0], x[0]})}; };
    Graph graph = fuse_attention(record({f32({1, 3, 4, 8})}, before), any_shape);
    ASSERT_EQ(graph.nodes().size(), 1U);
    EXPECT_EQ(graph.nodes()[0].op, &ops::Attention::info);
    const Tensor x = noise({5, 3, 6, 8}, 1), got = Executable(graph, {}).run(std::vector{x})[0];
    EXPECT_EQ(got.spec().shape, Shape({5, 3, 6, 8}));

    // Keys of one item belong to all of a larger batch.
    const Tensor keys = noise({1, 3, 5, 8}, 2);
    const Body shared = [=](const Tensors& in) { return Tensors{chain({in[0], keys, keys})}; };
    expect_same(fuse_attention(record({f32({1, 3, 4, 8})}, shared), any_shape),
                record({f32({1, 3, 4, 8})}, shared));
    EXPECT_EQ(fuse_attention(record({f32({1, 3, 4, 8})}, shared), {}).nodes().size(), 1U);
}

TEST(FuseAttention, IsDoneAtEveryPrecision) {
    Graph graph = record(heads_first, [](const Tensors& x) { return Tensors{chain(x)}; });
    for (auto precision : {Precision::strict, Precision::relaxed, Precision::fast})
        for (bool profile : {false, true}) {
            PassOptions options{.precision = precision};
            options.select.profile = profile;
            EXPECT_TRUE(has_operator(fuse_attention(graph, options), {&ops::Attention::info}));
        }
}

TEST(FuseAttention, CanBeTurnedOff) {
    Graph graph = record(heads_first, [](const Tensors& x) { return Tensors{chain(x)}; });
    auto fused = [&](const CompileOptions& options) {
        auto program = Program::compile(graph, options);
        return std::ranges::any_of(program->graph().nodes(),
                                   [](auto& node) { return node.op == &ops::Attention::info; });
    };
    EXPECT_TRUE(fused({}));
    EXPECT_FALSE(fused({.passes = {{"fuse_attention", false}}}));
    EXPECT_FALSE(fused({.level = 1}));
}

}  // namespace
}  // namespace mge::test

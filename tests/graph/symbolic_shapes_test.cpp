// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/symbolic/symbolic_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <random>
#include <utility>

#include "libmge/mge.h"
#include "libmge/tensor/extent_terms.h"

namespace mge::test {
namespace {

TensorSpec f32_of(const Shape& shape) { return {DType::f32, shape, {}}; }

Tensor zeros(const Shape& shape) {
    std::vector<float> values(size_t(shape.numel()));
    return tensor_from_host(f32_of(shape), values.data());
}
Tensor ints(std::vector<int32_t> values) {
    return tensor_from_host({DType::i32, {int64_t(values.size())}, {}}, values.data());
}

Graph recorded(const std::vector<Shape>& inputs, const std::function<Tensors(const Tensors&)>& body) {
    GraphBuilder builder;
    Tensors symbols;
    for (auto& shape : inputs) symbols.push_back(builder.input(f32_of(shape), text("x", symbols.size())));
    InterpreterScope scope(builder);
    builder.set_outputs(body(symbols));
    return builder.take();
}

std::string result_of(const std::vector<Shape>& inputs, const std::function<Tensor(const Tensors&)>& body) {
    Graph graph = recorded(inputs, [&](const Tensors& x) { return Tensors{body(x)}; });
    return text(symbolic_shapes(graph).shapes[size_t(graph.outputs()[0])]);
}

TEST(SymbolicShapes, FollowOperators) {
    Shape image{2, 3, 8, 8};
    EXPECT_EQ(result_of({{2, 3}}, [](auto& x) { return ops::relu(x[0]); }), "(x0.0, x0.1)");
    EXPECT_EQ(result_of({{2, 3}},
                        [](auto& x) {
                            return ops::concat({x[0], x[0]}, {.axis = 1});
                        }),
              "(x0.0, 2*x0.1)");
    EXPECT_EQ(result_of({image}, [](auto& x) { return ops::flatten(x[0], {.start = 1}); }),
              "(x0.0, x0.1*x0.2*x0.3)");
    EXPECT_EQ(result_of({image},
                        [](auto& x) {
                            return ops::conv2d(x[0], zeros({4, 3, 3, 3}));
                        }),
              "(x0.0, 4, x0.2 - 2, x0.3 - 2)");
    EXPECT_EQ(result_of({image},
                        [](auto& x) {
                            return ops::max_pool2d(x[0], {.kernel = {2, 2}, .stride = {2, 2}});
                        }),
              "(x0.0, x0.1, floordiv(x0.2, 2), floordiv(x0.3, 2))");
    EXPECT_EQ(result_of({image}, [](auto& x) { return ops::mean(x[0], {.axes = {2, 3}}); }), "(x0.0, x0.1)");
    EXPECT_EQ(result_of({{2, 3}}, [](auto& x) { return ops::matmul(x[0], zeros({3, 5})); }), "(x0.0, 5)");
    EXPECT_EQ(result_of({{2, 3}},
                        [](auto& x) {
                            return ops::transpose(x[0], {.pattern = {1, 0}});
                        }),
              "(x0.1, x0.0)");
}

TEST(SymbolicShapes, ShapeValuesArePropagated) {
    EXPECT_EQ(result_of({{2, 3, 4}},
                        [](auto& x) {
                            Tensor batch = ops::shape_of(x[0], {.axis = 0});
                            return ops::reshape(x[0], ops::concat({batch, ints({-1})}, {.axis = 0}));
                        }),
              "(x0.0, x0.1*x0.2)");
    EXPECT_EQ(result_of({{2, 3, 4}, {1, 2}},
                        [](auto& x) {
                            Tensor target = ops::mul(ops::shape_of(x[1]), ints({4, 3}));
                            return ops::broadcast_to(ops::sum(x[0]), target);
                        }),
              "(4*x1.0, 3*x1.1)");
}

TEST(SymbolicShapes, DemandsAreSolved) {
    Graph graph = recorded({{2, 3, 8, 8}, {2, 4}}, [](const Tensors& x) {
        Tensor y = ops::mean(ops::conv2d(x[0], zeros({4, 3, 3, 3})), {.axes = {2, 3}});
        return Tensors{ops::concat({y, x[1]}, {.axis = 1})};
    });
    auto symbolic = symbolic_shapes(graph);
    EXPECT_TRUE(symbolic.solved.at("x0.1").is(3));
    EXPECT_TRUE(symbolic.shapes[size_t(graph.inputs()[0])].extent(0).is(
        symbolic.shapes[size_t(graph.inputs()[1])].extent(0)));
    EXPECT_GE(symbolic.shapes[size_t(graph.inputs()[0])].extent(2).lower(), 3);
}

TEST(SymbolicShapes, LongChainsKeepFormsShort) {
    Graph graph = recorded({{2, 3, 8, 8}, {2, 3, 8, 8}}, [](const Tensors& x) {
        Tensor y = x[0];
        for (int i = 0; i < 300; ++i)
            y = ops::max_pool2d(ops::concat({y, x[i % 2]}, {.axis = 2}),
                                {.kernel = {2, 1}, .stride = {2, 1}});
        return Tensors{y};
    });
    auto symbolic = symbolic_shapes(graph);
    for (auto& shape : symbolic.shapes) EXPECT_LT(text(shape).size(), 4000u);
}

// A server may run a model at any number of shapes.
TEST(SymbolicShapes, NewShapesInternNoNewExtents) {
    auto follow = [](int64_t batch, int64_t size) {
        Graph graph = recorded({{batch, 3, size, size + 1}}, [](const Tensors& x) {
            Tensor y = ops::conv2d(x[0], zeros({4, 3, 3, 3}), {.stride = {2, 2}});
            return Tensors{ops::flatten(ops::concat({y, y}, {.axis = 2}), {.start = 1})};
        });
        symbolic_shapes(graph);
        return interned_extents();
    };
    size_t before = follow(1, 8);
    for (int64_t i = 2; i < 40; ++i) EXPECT_EQ(follow(i, 8 + i), before);
}

TEST(SymbolicShapes, ReadingSymbolsAsNumbersIsUndecidable) {
    Shape shape{2, 3};
    shape.set(1, Extent::symbol("s", {1}));
    EXPECT_TRUE(shape.has_symbols());
    EXPECT_EQ(shape[0], 2);
    EXPECT_THROW(void(std::as_const(shape)[1]), Undecidable);
    EXPECT_THROW(shape[1] = 4, Undecidable);
    EXPECT_THROW(void(shape.numel()), Undecidable);
    EXPECT_THROW(void(shape.dims()), Undecidable);
    EXPECT_THROW(void(shape == Shape{2, 3}), Undecidable);
    EXPECT_FALSE((shape == Shape{1, 3}));
    EXPECT_FALSE((shape == Shape{2, 0}));
    EXPECT_EQ(text(shape), "(2, s)");
    Shape other = shape;
    other.erase(1);
    EXPECT_FALSE(other.has_symbols());
    shape.set(1, 3);
    EXPECT_EQ(shape, (Shape{2, 3}));
    EXPECT_FALSE(shape.has_symbols());
}

// Every step makes a tensor of rank 4 from those that exist.
class RandomShapes {
public:
    RandomShapes(const Tensors& inputs, uint32_t seed) : random_(seed), pool_(inputs) {}
    Tensors run() {
        for (int tries = 0; pool_.size() < 14 && tries < 60; ++tries) try {
                pool_.push_back(step(pick()));
            } catch (const UserError&) {
                // The step does not work at the present shapes.
            }
        return {pool_.back()};
    }

private:
    Tensor pick() { return pool_[random_() % pool_.size()]; }
    int64_t upto(int64_t n) { return int64_t(random_()) % n + 1; }

    Tensor step(const Tensor& x) {
        switch (random_() % 18) {
            case 0: {
                ops::Conv2d::Params p;
                p.stride = {upto(2), upto(2)};
                p.padding = {upto(2) - 1, upto(2) - 1};
                return ops::conv2d(x, zeros({upto(4), x.shape()[1], upto(3), upto(3)}), p);
            }
            case 1:
                return ops::max_pool2d(x,
                                       {.kernel = {2, 2}, .stride = {upto(2), upto(2)}, .padding = {1, 0}});
            case 2:
                return ops::adaptive_avg_pool2d(x, {.height = 1, .width = 1});
            case 3:
                return ops::transpose(x, {.pattern = {0, 2, 3, 1}});
            case 4:
                return ops::concat({x, pick()}, {.axis = int(random_() % 4)});
            case 5:
                return ops::add(x, pick());
            case 6:
                return ops::reshape(ops::flatten(x, {.start = 1}), ops::shape_of(x));
            case 7:
                return ops::pad(x, {.before = {0, 0, upto(2), 0}, .after = {0, 0, 0, upto(2)}});
            case 8:
                return ops::sum(x, {.axes = {int64_t(random_() % 4)}, .keepdims = true});
            case 9:
                return ops::slice(x, {.items = {2, 1, INT64_MIN, upto(2), 0, 3, 0, -1, INT64_MIN, 0}});
            case 10:
                return ops::slice(x, {.items = {int64_t(random_() % 4), INT64_MIN, INT64_MIN, -upto(2), 0}});
            case 11:
                return ops::matmul(x, ops::transpose(x, {.pattern = {0, 1, 3, 2}}));
            case 12:
                return ops::softmax(x, {.axis = 1});
            case 13:
                return ops::broadcast_like(ops::mean(x, {.axes = {0}, .keepdims = true}), x);
            case 14: {
                Tensor rows = ops::reshape(x, ops::concat({ops::shape_of(x, {.axis = 0}), ints({-1})}, {}));
                return ops::add_axis(rows, {.axes = {1, 2}});
            }
            case 15: {
                Tensor extents = ops::floor_div(ops::add(ops::shape_of(x), ints({1, 1, 1, 1})), ints({2}));
                return ops::full(extents, {.shape = {}, .value = 1, .dtype = DType::f32});
            }
            case 16:
                return ops::reshape(x, {.shape = {-1, 1, 2, 2}});
            default:
                return ops::remove_axis(ops::add_axis(ops::mul(x, pick()), {.axes = {4}}), {.axes = {4}});
        }
    }

    std::mt19937 random_;
    Tensors pool_;
};

bool is_of_inputs(const Extent& extent) {
    auto names = symbols_of(extent);
    return std::ranges::none_of(names, [](auto& name) { return name[0] == '?'; });
}

std::optional<Graph> inferred(const Graph& graph, const TensorSpecs& inputs) {
    try {
        return infer_shapes(graph, inputs);
    } catch (const UserError&) {
        return std::nullopt;
    }
}

// Symbolic shapes, evaluated at numbers, equal the shapes that are inferred for these numbers.
TEST(SymbolicShapes, EvaluateToConcreteShapes) {
    int compared = 0, symbols = 0, open = 0, graphs = 150;
    for (uint32_t seed = 0; seed < uint32_t(graphs); ++seed) {
        std::mt19937 random(seed);
        auto extent = [&] { return int64_t(random() % 7 + 1); };
        auto shapes = [&] {
            int64_t batch = extent(), channels = extent(), size = extent() + 3;
            std::vector<Shape> result{{batch, channels, size, size + 1}, {batch, channels, size, size + 1}};
            if (random() % 3 == 0) result[1] = {1, channels, 1, 1};
            if (random() % 3 == 0) result[1] = {extent(), extent(), extent(), extent()};
            return result;
        };
        auto start = shapes();
        Graph graph = recorded(start, [&](const Tensors& x) { return RandomShapes(x, seed).run(); });
        auto symbolic = symbolic_shapes(graph);
        for (int trial = 0; trial < 30; ++trial) {
            auto inputs = trial ? shapes() : start;
            auto concrete = inferred(graph, {f32_of(inputs[0]), f32_of(inputs[1])});
            if (!concrete) continue;
            SCOPED_TRACE(
                text("seed ", seed, " at ", inputs[0], " and ", inputs[1], "\n", to_text(*concrete)));
            ExtentValues values;
            for (size_t i = 0; i < 2; ++i)
                for (int axis = 0; axis < 4; ++axis) values[text('x', i, '.', axis)] = inputs[i][axis];
            for (size_t id = 0; id < symbolic.shapes.size(); ++id) {
                auto &got = symbolic.shapes[id], &expected = concrete->value(ValueId(id)).spec.shape;
                if (!got.is_known()) continue;
                ASSERT_EQ(got.rank(), expected.rank()) << "value " << id;
                for (int axis = 0; axis < got.rank(); ++axis) {
                    bool is_open = !is_of_inputs(got.extent(axis));
                    ++(is_open ? open : symbols);
                    if (is_open) continue;
                    ASSERT_EQ(evaluate(got.extent(axis), values), expected[axis])
                        << "value " << id << " is " << got;
                }
            }
            for (auto& guard : symbolic.guards) {
                if (!is_of_inputs(guard.a) || !is_of_inputs(guard.b)) continue;
                ASSERT_TRUE(holds(guard, values)) << guard;
            }
            for (auto& [name, value] : symbolic.solved) {
                if (name[0] == '?' || !is_of_inputs(value)) continue;
                ASSERT_EQ(evaluate(value, values), values[name]) << name;
            }
            ++compared;
        }
    }
    EXPECT_GT(compared, 3 * graphs);
    EXPECT_LT(open * 20, symbols) << open << " extents of " << symbols + open << " are not inferred";
}

}  // namespace
}  // namespace mge::test

// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/symbolic/symbolic_inference.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "libmge/graph/symbolic/symbol_table.h"
#include "libmge/mge.h"
#include "libmge/ops/index/slice/slice_items.h"

namespace mge::test {
namespace {

Tensor vector_of(std::vector<int64_t> values) {
    return tensor_from_host({DType::i64, {int64_t(values.size())}, {}}, values.data());
}

// A graph that grows: x of (s, t), recorded as (8, 8), and a vector of three numbers that a run gives.
struct Recording {
    GraphBuilder builder;
    Tensor x = builder.input({DType::f32, {8, 8}, {}}, "x");
    Tensor given = builder.input({DType::i64, {3}, {}}, "given");
    SymbolicInference inference{
        builder.graph(),
        {.unknown = [](const std::string& name,
                       int64_t lower) { return Extent::symbol(name, {.lower = lower}); },
         .input = [&](ValueId id) { return described(id); },
         .follows_values = true}};
    InterpreterScope scope{builder};
    Tensor s = ops::shape_of(x, {.axis = 0}), t = ops::shape_of(x, {.axis = 1});

    Recording() { builder.set_symbolic(&inference); }
    SymbolicValue described(ValueId id) const {
        if (id != x.impl()->symbol) return {{3}, {}, {}};
        Shape shape{8, 8};
        shape.set(0, Extent::symbol("s", {1}));
        shape.set(1, Extent::symbol("t", {1}));
        return {shape, {}, {}};
    }
    std::string elements(const Tensor& y) {
        auto& known = inference.at(y.impl()->symbol).elements;
        if (!known) return "unknown";
        std::string result;
        for (auto& extent : *known)
            result += (result.empty() ? "" : ", ") + (text(extent)[0] == '?' ? "?" : text(extent));
        return result;
    }
    // A size that no operator knows is a question mark.
    std::string shape(const Tensor& y) {
        Shape shape = inference.at(y.impl()->symbol).shape;
        for (int axis = 0; axis < shape.rank(); ++axis)
            if (text(shape.extent(axis))[0] == '?') shape.set(axis, Extent::symbol("?"));
        return text(shape);
    }
};

TEST(SymbolicInference, ComparisonsAreDecidedWhereSizesOfZeroAgree) {
    Recording r;
    EXPECT_EQ(r.elements(ops::equal(r.s, r.s)), "1");
    EXPECT_EQ(r.elements(ops::equal(r.s, r.t)), "?");
    EXPECT_EQ(r.elements(ops::less(r.s, vector_of({0}))), "0");
    EXPECT_EQ(r.elements(ops::greater(r.s, vector_of({0}))), "?");
    EXPECT_EQ(r.elements(ops::maximum(r.s, vector_of({0}))), "s");
    EXPECT_EQ(r.elements(ops::maximum(r.s, vector_of({1}))), "?");
    EXPECT_EQ(r.elements(ops::maximum(r.s, vector_of({5}))), "max(5, s)");
    EXPECT_EQ(r.elements(ops::logical_or(ops::equal(r.s, r.t), ops::less_equal(r.s, r.s))), "1");
}

TEST(SymbolicInference, ElementsThatCannotBeComputedAreSymbols) {
    Recording r;
    Tensor mixed = ops::concat({r.s, r.given}, {.axis = 0});
    EXPECT_EQ(r.elements(mixed), "s, ?, ?, ?");
    EXPECT_EQ(r.elements(ops::sub(mixed, mixed)), "0, 0, 0, 0");
    EXPECT_EQ(r.elements(ops::mul(mixed, vector_of({2, 0, 1, 1}))), "2*s, 0, ?, ?");
    Tensor mask = ops::equal(mixed, vector_of({-1, 0, 1, 2}));
    EXPECT_EQ(r.elements(ops::where(mask, vector_of({9}), mixed)), "s, ?, ?, ?");
    // A number that a run gives may be -1, which a reshape replaces.
    EXPECT_EQ(r.shape(ops::reshape(r.x, r.given)), "(?, ?, ?)");
}

TEST(SymbolicInference, RealNumbersAreFollowedWhereTheyAreWhole) {
    Recording r;
    Tensor real = convert_dtype(r.s, DType::f32);
    auto number = [](double value) { return scalar_tensor(value, DType::f32); };
    EXPECT_EQ(r.elements(convert_dtype(ops::floor(ops::mul(real, number(2))), DType::i64)), "2*s");
    EXPECT_EQ(r.elements(convert_dtype(ops::div(ops::mul(real, number(6)), number(3)), DType::i64)), "2*s");
    EXPECT_EQ(r.elements(convert_dtype(ops::mul(real, number(0.5)), DType::i64)), "?");
}

TEST(SymbolicInference, ConstantsAreComputed) {
    Recording r;
    Tensor quotient = ops::floor_div(ops::mul(r.s, vector_of({6})), r.s);
    EXPECT_EQ(r.elements(quotient), "6");
    Tensor root = ops::sqrt(convert_dtype(ops::shape_of(r.given), DType::f32));
    Tensor constant = r.inference.at(root.impl()->symbol).constant;
    ASSERT_TRUE(constant);
    EXPECT_FLOAT_EQ(*constant.data<float>(), std::sqrt(3.f));
    EXPECT_FALSE(r.inference.at(r.s.impl()->symbol).constant);
}

TEST(SymbolicInference, ShapesAreDeclaredWhereTheyAreUnknown) {
    Recording r;
    Tensor target = ops::cond_take(r.given, ops::greater(r.given, vector_of({0, 0, 0})))[0];
    Tensor y = ops::reshape(r.x, target);
    EXPECT_EQ(r.shape(y), "(?)");
    Shape shape;
    shape.push_back(r.inference.unknown_extent(y.impl()->symbol, 0));
    r.inference.assume(y.impl()->symbol, shape);
    EXPECT_EQ(text(r.inference.at(ops::concat({y, y}, {.axis = 0}).impl()->symbol).shape).substr(0, 4),
              "(2*?");
}

TEST(SymbolicInference, ACountThatARunGivesIsOneSymbol) {
    Recording r;
    Tensor flat = ops::reshape(r.x, {.shape = {-1}});
    auto taken = ops::cond_take(flat, ops::greater(flat, scalar_tensor(0, DType::f32)));
    EXPECT_EQ(r.shape(taken[0]), "(?,)");
    EXPECT_EQ(r.shape(ops::sub(ops::shape_of(taken[0]), ops::shape_of(taken[1]))), "(1,)");
    EXPECT_EQ(r.elements(ops::sub(ops::shape_of(taken[0]), ops::shape_of(taken[1]))), "0");
    auto rows = ops::unique(r.x);
    EXPECT_EQ(r.shape(rows[0]), "(?, t)");
    EXPECT_EQ(r.shape(rows[1]), "(?,)");
    EXPECT_EQ(r.shape(rows[2]), "(s,)");
}

TEST(SymbolicInference, TheLengthOfAListFollowsItsCount) {
    Recording r;
    EXPECT_EQ(r.shape(ops::linspace(Tensor(), Tensor(), ops::mul(r.s, vector_of({2})), {0, 1})), "(2*s,)");
}

TEST(SymbolicInference, AVectorIsChangedInPlace) {
    Recording r;
    Tensor both = ops::concat({r.s, r.t}, {.axis = 0});
    Tensor one = vector_of({1}), two = vector_of({2});
    IntList items{0, ops::bound_from_input, ops::bound_from_input, ops::absent_bound, 0};
    EXPECT_EQ(r.elements(ops::set_slice({both, vector_of({-1}), one, two}, {.items = items})), "s, -1");
    EXPECT_EQ(r.elements(ops::slice({both, one, two}, {.items = items})), "t");
}

TEST(SymbolicInference, AChoiceBetweenEqualSizesIsKnown) {
    Recording r;
    Tensor one = vector_of({1}), zero = vector_of({0}), twice = ops::mul(r.s, vector_of({2}));
    EXPECT_EQ(r.elements(ops::where(ops::equal(r.s, one), one, r.s)), "s");
    EXPECT_EQ(r.elements(ops::where(ops::equal(one, r.s), ops::minimum(r.s, vector_of({9})), r.s)), "s");
    EXPECT_EQ(r.elements(ops::where(ops::equal(r.s, r.t), r.t, r.s)), "s");
    EXPECT_EQ(r.elements(ops::where(ops::equal(twice, zero), r.s, twice)), "2*s");
    EXPECT_EQ(r.elements(ops::where(ops::equal(r.s, one), r.t, r.s)), "?");
}

TEST(SymbolicInference, GraphsInsideOfOperatorsAreFollowed) {
    Recording r;
    auto body = [&](const std::function<Tensors(std::span<const Tensor>)>& function) {
        Tensors captured;
        TensorSpec row{DType::f32, {8}, {}};
        return capture_subgraph(std::vector{row, row}, captured, function);
    };
    auto sums = body([](auto in) { return Tensors{ops::add(in[0], in[1]), ops::neg(in[1])}; });
    Tensor start = ops::sum(r.x, {.axes = {0}});
    auto results = ops::scan({start, r.x}, {.body = sums, .carried = 1, .sliced = 1});
    EXPECT_EQ(r.shape(results[0]), "(t,)");
    EXPECT_EQ(r.shape(results[1]), "(s, t)");
    auto chosen = body([](auto in) { return Tensors{ops::concat({in[0], in[1]}, {.axis = 0})}; });
    Tensor flag = ops::greater(ops::sum(start, {.axes = {0}}), scalar_tensor(0, DType::f32));
    EXPECT_EQ(r.shape(ops::cond({flag, start, start}, {.then_graph = chosen, .else_graph = chosen})[0]),
              "(2*t,)");
    auto taken = body([](auto in) { return Tensors{ops::cond_take(in[0], ops::greater(in[0], in[1]))[0]}; });
    EXPECT_EQ(r.shape(ops::cond({flag, start, start}, {.then_graph = taken, .else_graph = chosen})[0]),
              "(?,)");
}

TEST(SymbolicInference, ARefusedApplicationLeavesItsDemands) {
    Recording r;
    EXPECT_THROW(ops::reshape(r.x, {.shape = {-1, 9}}), UserError);
    ASSERT_FALSE(r.inference.guards().empty());
    EXPECT_TRUE(holds(r.inference.guards().back(), {{"s", 3}, {"t", 3}}));
    EXPECT_FALSE(holds(r.inference.guards().back(), {{"s", 8}, {"t", 8}}));
}

TEST(SymbolTable, FactorsThatAreNoZeroSayNothing) {
    SymbolTable table;
    Extent n = table.get("n", 1), t = table.get("t", 1);
    EXPECT_TRUE(table.learn({"reshape", Guard::Relation::equal, n * t, 6 * n}));
    EXPECT_TRUE(table.solved().at("t").is(6));
    EXPECT_FALSE(table.solved().contains("n"));
}

}  // namespace
}  // namespace mge::test

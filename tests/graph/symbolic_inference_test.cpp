// SPDX-License-Identifier: Apache-2.0
#include "libmge/graph/symbolic/symbolic_inference.h"

#include <gtest/gtest.h>

#include <functional>

#include "libmge/graph/symbolic/symbol_table.h"
#include "libmge/mge.h"

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
    std::string shape(const Tensor& y) { return text(inference.at(y.impl()->symbol).shape); }
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
    EXPECT_EQ(r.shape(ops::reshape(r.x, r.given)), "(?)");
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
    Tensor flat = ops::reshape(r.x, {.shape = {-1}});
    Tensor places = ops::cond_take(flat, ops::greater(flat, scalar_tensor(0, DType::f32)))[1];
    EXPECT_EQ(r.shape(places), "(?)");
    Shape shape;
    shape.push_back(r.inference.unknown_extent(places.impl()->symbol, 0));
    r.inference.assume(places.impl()->symbol, shape);
    EXPECT_EQ(r.shape(ops::concat({places, places}, {.axis = 0})).substr(0, 4), "(2*?");
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

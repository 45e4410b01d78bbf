// SPDX-License-Identifier: Apache-2.0
#include "libmge/ops/elementwise/fused/fused_region.h"

#include <gtest/gtest.h>

#include <cstring>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"

namespace mge::test {
namespace {

using ops::FusedProgram;
using ops::FusedRegion;
const NoParams none;

// x * y + exp(z)
const char* const product_and_exp = "inputs 3; mul 0 1; exp 2; add 3 4";

Tensor ramp(const Shape& shape, int seed) {
    std::vector<float> values(size_t(shape.numel()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = float(int((i + size_t(seed)) * 7 % 23) - 11) / 20;
    return tensor_of<float>(shape, values);
}

struct Case {
    Shape shape;
    IntList axes;
    bool keepdims = false;
};
// Runs shorter and longer than what is read at once, few and many columns, several groups of axes, pieces and
// several threads.
const std::vector<Case> cases{
    {{}, {}},           {{7}, {}},          {{3, 17}, {1}},       {{3, 17}, {-1}, true},
    {{17, 3}, {0}},     {{2, 5, 19}, {1}},  {{2, 5, 19}, {0, 2}}, {{5, 0}, {0}},
    {{0, 5}, {0}},      {{3, 5000}, {1}},   {{2, 9001}, {}},      {{3, 3, 4999}, {1}, true},
    {{300, 1031}, {1}}, {{1031, 300}, {0}}, {{40'001, 3}, {0}}};

TEST(FusedRegion, ReducesAsItsReference) {
    for (auto& c : cases)
        for (auto* reduction : {"sum", "mean"})
            check_op<FusedRegion>(
                {.program = product_and_exp, .reduction = reduction, .axes = c.axes, .keepdims = c.keepdims},
                {{.shape = c.shape}, {.shape = c.shape}, {.shape = c.shape, .low = -1, .high = 1}},
                {.reduction = c.shape.numel()});
    for (auto& c : cases) {
        for (auto* reduction : {"max", "min"}) {
            if (c.shape.numel() == 0) continue;
            check_op<FusedRegion>({.program = product_and_exp, .reduction = reduction, .axes = c.axes},
                                  {{.shape = c.shape}, {.shape = c.shape}, {.shape = c.shape}});
        }
        // Products near 1; no step rounds as its reference does not.
        check_op<FusedRegion>(
            {.program = "inputs 1; const float32 0x1p-10; mul 0 1; const float32 0x1p+0; add 2 3",
             .reduction = "prod",
             .axes = c.axes},
            {{.shape = c.shape}}, {.reduction = c.shape.numel()});
    }
}

// Rounding would reveal fusing: results must be bit-identical.
TEST(FusedRegion, MatchesItsOperatorsBitwise) {
    for (auto& c : cases) {
        Tensor x = ramp(c.shape, 1), y = ramp(c.shape, 2), z = ramp(c.shape, 3);
        Tensor fused = ops::fused_region(
            {x, y, z},
            {.program = product_and_exp, .reduction = "sum", .axes = c.axes, .keepdims = c.keepdims});
        Tensor apart = ops::sum(ops::fused_elementwise({x, y, z}, {.program = product_and_exp}),
                                {.axes = c.axes, .keepdims = c.keepdims});
        ASSERT_EQ(fused.spec(), apart.spec());
        EXPECT_EQ(std::memcmp(fused.data(), apart.data(), fused.spec().bytes()), 0) << c.shape;
    }
}

TEST(FusedRegion, ReducesBroadcastValues) {
    for (auto& [a, b] : std::vector<std::pair<Shape, Shape>>{
             {{70, 90}, {70, 1}}, {{70, 90}, {90}}, {{3, 5000}, {1}}, {{5, 1}, {1, 700}}})
        check_op<FusedRegion>({.program = "inputs 2; mul 0 1; tanh 2", .reduction = "sum", .axes = {0}},
                              {{.shape = a}, {.shape = b}}, {.reduction = 70});
}

TEST(FusedRegion, MixesDtypes) {
    for (auto* program : {"inputs 2; greater 0 1", "inputs 2; greater 0 1; convert[dtype=float16] 2",
                          "inputs 2; sub 0 1; convert[dtype=int32] 2"})
        for (auto* reduction : {"sum", "mean"})
            check_op<FusedRegion>({.program = program, .reduction = reduction, .axes = {1}},
                                  {{.shape = {5, 700}, .low = -9, .high = 9}, {.shape = {700}}},
                                  {.dtypes = float_types, .reduction = 700});
}

FusedProgram transposing(const IntList& pattern) {
    FusedProgram program(2);
    ops::Transpose::Params params{pattern};
    int sine = program.add(ops::Sin::info, &none, {0});
    int turned = program.add(ops::Transpose::info, &params, {sine});
    int sum = program.add(ops::Add::info, &none, {turned, 1});
    program.add(ops::Mul::info, &none, {sum, turned});
    return program;
}

TEST(FusedRegion, ReadsAlongOtherAxes) {
    EXPECT_EQ(transposing({1, 0}).text(), "inputs 2; sin 0; transpose[pattern=1:0] 2; add 3 1; mul 4 3");
    EXPECT_EQ(FusedProgram::parse(transposing({1, 0}).text()).text(), transposing({1, 0}).text());
    struct Turn {
        Shape from;
        IntList pattern;
        Shape to;
    };
    for (auto& [from, pattern, to] : std::vector<Turn>{{{3, 1031}, {1, 0}, {1031, 3}},
                                                       {{1, 5}, {1, 0}, {5, 1}},
                                                       {{2, 3, 4}, {2, 0, 1}, {4, 2, 3}},
                                                       {{2, 30, 40}, {1, 0, 2}, {30, 2, 40}},
                                                       {{2, 0, 4}, {2, 0, 1}, {4, 2, 0}},
                                                       {{2, 3, 4, 5}, {0, 2, 1, 3}, {2, 4, 3, 5}}})
        for (auto* reduction : {"", "sum"})
            for (auto& other : {to, Shape{1}})
                check_op<FusedRegion>({.program = transposing(pattern).text(), .reduction = reduction},
                                      {{.shape = from}, {.shape = other}}, {.reduction = 4096});
}

// Both a value and its transpose; what is broadcast before it is turned; a result that is turned.
TEST(FusedRegion, ReadsOneValueAlongSeveralOrders) {
    for (auto* program : {"inputs 2; sin 0; transpose[pattern=1:0] 2; mul 2 3",
                          "inputs 2; add 0 1; transpose[pattern=1:0] 2; add 3 1",
                          "inputs 2; add 0 1; transpose[pattern=1:0] 2; transpose[pattern=1:0] 3; exp 4",
                          "inputs 2; mul 0 1; transpose[pattern=1:0] 2"})
        check_op<FusedRegion>({.program = program}, {{.shape = {37, 37}}, {.shape = {37}}});
}

TEST(FusedRegion, RefusesInvalidRegions) {
    Tensor x = ramp({2, 3}, 1);
    for (auto& params :
         std::vector<FusedRegion::Params>{{"inputs 1; relu 0", "median", {}, false},
                                          {"inputs 1; relu 0", "sum", {2}, false},
                                          {"inputs 1; transpose[pattern=0:0] 0; relu 1", "", {}},
                                          {"inputs 1; transpose[pattern=a] 0; relu 1", "", {}},
                                          {"inputs 1; transpose 0; relu 1", "", {}}})
        EXPECT_THROW(ops::fused_region({x}, params), UserError) << params.program << ' ' << params.reduction;
    Tensor empty = ramp({0, 3}, 1);
    EXPECT_THROW(ops::fused_region({empty}, {.program = "inputs 1; relu 0", .reduction = "max", .axes = {0}}),
                 UserError);
    EXPECT_THROW(ops::fused_elementwise({x}, {.program = transposing({1, 0}).text()}), UserError);
}

}  // namespace
}  // namespace mge::test

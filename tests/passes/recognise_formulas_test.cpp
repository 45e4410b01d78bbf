// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <numbers>

#include "libmge/mge.h"
#include "tests/passes/same_graph.h"

namespace mge::test {
namespace {

Tensor number(double value) { return constant({}, {float(value)}); }
// The result of the pass for a formula of one image.
void expect_formula(const Body& before, const Body& after) {
    expect_rewrite(recognise_formulas, {f32({2, 3, 4})}, before, after);
}
void expect_left(const Body& body) { expect_formula(body, body); }

Tensor half_of_erf(const Tensor& x) {
    return ops::add(ops::erf(ops::div(x, number(std::sqrt(2)))), number(1));
}

TEST(RecogniseFormulas, GeluInAnyOrder) {
    Body gelu = [](const Tensors& x) { return Tensors{ops::gelu(x[0])}; };
    expect_formula(
        [](const Tensors& x) { return Tensors{ops::mul(ops::mul(x[0], half_of_erf(x[0])), number(0.5))}; },
        gelu);
    expect_formula(
        [](const Tensors& x) {
            Tensor erf = ops::erf(ops::mul(number(std::sqrt(0.5)), x[0]));
            return Tensors{ops::mul(ops::mul(x[0], number(0.5)), ops::add(number(1), erf))};
        },
        gelu);
    expect_formula(
        [](const Tensors& x) { return Tensors{ops::div(ops::mul(half_of_erf(x[0]), x[0]), number(2))}; },
        gelu);
}

TEST(RecogniseFormulas, KeepsNearMissesOfGelu) {
    expect_left([](const Tensors& x) { return Tensors{ops::mul(x[0], half_of_erf(x[0]))}; });
    expect_left([](const Tensors& x) {
        Tensor erf = ops::erf(ops::mul(x[0], number(0.8)));
        return Tensors{ops::mul(ops::mul(x[0], number(0.5)), ops::add(erf, number(1)))};
    });
    expect_left([](const Tensors& x) {
        Tensor other = ops::exp(x[0]);
        return Tensors{ops::mul(ops::mul(other, number(0.5)), half_of_erf(x[0]))};
    });
    expect_left([](const Tensors& x) {  // computed for another reader anyway
        Tensor part = half_of_erf(x[0]);
        return Tensors{ops::mul(ops::mul(x[0], number(0.5)), part), part};
    });
}

// 0.5 · x · (1 + tanh(argument))
Tensor half_of_tanh(const Tensor& x, const Tensor& argument) {
    return ops::mul(ops::mul(number(0.5), x), ops::add(number(1), ops::tanh(argument)));
}
Tensor cubic(const Tensor& x, double factor) {
    Tensor cube = ops::mul(ops::square(x), x);
    return ops::mul(number(0.79788456), ops::add(x, ops::mul(number(factor), cube)));
}

TEST(RecogniseFormulas, GeluByTanhInAnyOrder) {
    auto gated = [](const Tensor& x) {
        const double factor = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
        Tensor slope = ops::add(ops::mul(ops::square(x), number(factor * 0.044715)), number(factor));
        return ops::mul(x, ops::sigmoid(ops::mul(x, slope)));
    };
    Body after = [=](const Tensors& x) { return Tensors{gated(x[0])}; };
    expect_formula([](const Tensors& x) { return Tensors{half_of_tanh(x[0], cubic(x[0], 0.044715))}; },
                   after);
    expect_formula(
        [](const Tensors& x) {
            Tensor cube = ops::mul(x[0], ops::mul(x[0], x[0]));
            Tensor inner = ops::add(ops::mul(cube, number(0.044715)), x[0]);
            Tensor tanh = ops::tanh(ops::mul(inner, number(0.7978845608028654)));
            return Tensors{ops::mul(number(0.5), ops::mul(x[0], ops::add(tanh, number(1))))};
        },
        after);
    expect_formula(
        [](const Tensors& x) {
            Tensor slope = ops::add(ops::mul(number(0.044715), ops::mul(x[0], x[0])), number(1));
            return Tensors{half_of_tanh(x[0], ops::mul(ops::mul(x[0], number(0.7978845608)), slope))};
        },
        after);
}

TEST(RecogniseFormulas, KeepsNearMissesOfGeluByTanh) {
    expect_left([](const Tensors& x) { return Tensors{half_of_tanh(x[0], cubic(x[0], 0.05))}; });
    expect_left([](const Tensors& x) { return Tensors{half_of_tanh(x[0], x[0])}; });
    expect_left([](const Tensors& x) {
        Tensor other = ops::exp(x[0]);
        return Tensors{half_of_tanh(x[0], cubic(other, 0.044715))};
    });
    expect_left([](const Tensors& x) {  // a square instead of a cube
        Tensor inner = ops::add(x[0], ops::mul(number(0.044715), ops::square(x[0])));
        return Tensors{half_of_tanh(x[0], ops::mul(number(0.79788456), inner))};
    });
    expect_left([](const Tensors& x) {
        Tensor argument = cubic(x[0], 0.044715);
        return Tensors{half_of_tanh(x[0], argument), argument};
    });
}

TEST(RecogniseFormulas, GeluOfASumAfterItsGate) {
    auto sum = [](const Tensors& x) { return ops::add(x[0], number(2)); };
    expect_formula(
        [=](const Tensors& x) {
            Tensor y = sum(x);
            return Tensors{ops::mul(ops::mul(half_of_erf(y), y), number(0.5))};
        },
        [=](const Tensors& x) { return Tensors{ops::gelu(sum(x))}; });
}

TEST(RecogniseFormulas, SigmoidGates) {
    expect_formula([](const Tensors& x) { return Tensors{ops::mul(x[0], ops::sigmoid(x[0]))}; },
                   [](const Tensors& x) { return Tensors{ops::silu(x[0])}; });
    expect_left([](const Tensors& x) { return Tensors{ops::mul(ops::exp(x[0]), ops::sigmoid(x[0]))}; });
    expect_formula(
        [](const Tensors& x) { return Tensors{ops::mul(ops::mul(x[0], ops::sigmoid(x[0])), number(2))}; },
        [](const Tensors& x) { return Tensors{ops::mul(ops::silu(x[0]), number(2))}; });
}

TEST(RecogniseFormulas, HardGates) {
    auto shifted = [](const Tensor& x, bool keeps_nan = false) {
        return ops::relu6(ops::add(x, number(3)), {.keeps_nan = keeps_nan});
    };
    auto line = [](const Tensor& x, bool keeps_nan = false) {
        return ops::clip(ops::add(ops::mul(x, number(1. / 6)), number(0.5)),
                         {.lower = 0, .upper = 1, .keeps_nan = keeps_nan});
    };
    Body hswish = [](const Tensors& x) { return Tensors{ops::hswish(x[0])}; };
    Body hsigmoid = [](const Tensors& x) { return Tensors{ops::hsigmoid(x[0])}; };
    expect_formula([&](const Tensors& x) { return Tensors{ops::div(shifted(x[0], true), number(6))}; },
                   hsigmoid);
    expect_formula([&](const Tensors& x) { return Tensors{line(x[0], true)}; }, hsigmoid);
    // hsigmoid keeps NaN, the formula gives 1.
    expect_left([&](const Tensors& x) { return Tensors{ops::div(shifted(x[0]), number(6))}; });
    expect_left([&](const Tensors& x) { return Tensors{line(x[0])}; });
    expect_formula(
        [&](const Tensors& x) { return Tensors{ops::mul(x[0], ops::div(shifted(x[0]), number(6)))}; },
        hswish);
    expect_formula(
        [&](const Tensors& x) { return Tensors{ops::div(ops::mul(x[0], shifted(x[0])), number(6))}; },
        hswish);
    expect_formula([&](const Tensors& x) { return Tensors{ops::mul(line(x[0]), x[0])}; }, hswish);
    expect_left([](const Tensors& x) {
        return Tensors{
            ops::clip(ops::add(ops::mul(x[0], number(0.2)), number(0.5)), {.lower = 0, .upper = 1})};
    });
}

TEST(RecogniseFormulas, Softmax) {
    auto formula = [](int64_t axis, int64_t other, bool kept) -> Body {
        return [=](const Tensors& x) {
            Tensor largest = ops::max(x[0], {.axes = {axis}, .keepdims = true});
            Tensor powers = ops::exp(ops::sub(x[0], largest));
            Tensor sum = ops::sum(powers, {.axes = {other}, .keepdims = true});
            Tensors results{ops::div(powers, sum)};
            if (kept) results.push_back(sum);
            return results;
        };
    };
    expect_formula(formula(-1, 2, false),
                   [](const Tensors& x) { return Tensors{ops::softmax(x[0], {.axis = 2})}; });
    expect_left(formula(1, 2, false));
    expect_left(formula(2, 2, true));
}

Tensor normalised(const Tensor& x, const IntList& axes, bool divides) {
    Tensor centred = ops::sub(x, ops::mean(x, {.axes = axes, .keepdims = true}));
    Tensor variance = ops::mean(ops::square(centred), {.axes = axes, .keepdims = true});
    Tensor deviation = ops::sqrt(ops::add(variance, number(1e-3)));
    return divides ? ops::div(centred, deviation) : ops::mul(centred, ops::reciprocal(deviation));
}
Tensor weight() { return constant({4}, {1, -2, 3, 0.5}); }
Tensor bias() { return constant({4}, {0.1F, 0.2F, 0.3F, 0.4F}); }

TEST(RecogniseFormulas, LayerNorm) {
    double epsilon = 1e-3F;
    for (bool divides : {true, false}) {
        expect_formula([=](const Tensors& x) { return Tensors{normalised(x[0], {-1}, divides)}; },
                       [=](const Tensors& x) {
                           return Tensors{ops::layer_norm({x[0]}, {.axes = 1, .epsilon = epsilon})[0]};
                       });
        expect_formula(
            [=](const Tensors& x) {
                return Tensors{ops::add(ops::mul(weight(), normalised(x[0], {2}, divides)), bias())};
            },
            [=](const Tensors& x) {
                return Tensors{ops::layer_norm({x[0], weight(), bias()}, {.axes = 1, .epsilon = epsilon})[0]};
            });
    }
    expect_formula(
        [](const Tensors& x) {
            return Tensors{normalised(x[0], {1, 2}, true)};
        },
        [=](const Tensors& x) {
            return Tensors{ops::layer_norm({x[0]}, {.axes = 2, .epsilon = epsilon})[0]};
        });
}

TEST(RecogniseFormulas, KeepsOtherNormalisations) {
    expect_left([](const Tensors& x) { return Tensors{normalised(x[0], {1}, true)}; });
    expect_left([](const Tensors& x) {
        Tensor centred = ops::sub(x[0], ops::mean(x[0], {.axes = {1}, .keepdims = true}));
        Tensor variance = ops::mean(ops::square(centred), {.axes = {2}, .keepdims = true});
        return Tensors{ops::div(centred, ops::sqrt(ops::add(variance, number(1e-3))))};
    });
}

TEST(RecogniseFormulas, MatchesTheFormula) {
    Body body = [](const Tensors& x) {
        Tensor y = ops::add(ops::mul(normalised(x[0], {2}, true), weight()), bias());
        y = ops::mul(ops::mul(y, half_of_erf(y)), number(0.5));
        return Tensors{ops::mul(y, ops::sigmoid(y))};
    };
    Graph before = record({f32({2, 3, 4})}, body), after = recognise_formulas(before, {});
    EXPECT_EQ(after.nodes().size(), 3u);
    Tensor x = constant({2, 3, 4}, {1, -2, 3.5, 0.25, -1, 2, 7});
    Tensor expected = Executable(before, {}).run(std::vector{x})[0];
    Tensor got = Executable(after, {}).run(std::vector{x})[0];
    for (int i = 0; i < 24; ++i) EXPECT_NEAR(got.data<float>()[i], expected.data<float>()[i], 1e-5);
}

TEST(RecogniseFormulas, MatchesGeluByTanh) {
    Graph before = record({f32({2, 3, 4})}, [](const Tensors& x) {
        return Tensors{half_of_tanh(x[0], cubic(x[0], 0.044715))};
    });
    Graph after = recognise_formulas(before, {});
    Tensor x = constant({2, 3, 4}, {1, -2, 3.5, 0.25, -1, 2, 7, 0, -100});
    Tensor expected = Executable(before, {.level = 0}).run(std::vector{x})[0];
    Tensor got = Executable(after, {.level = 0}).run(std::vector{x})[0];
    for (int i = 0; i < 24; ++i) EXPECT_NEAR(got.data<float>()[i], expected.data<float>()[i], 2e-6);
}

TEST(SimplifyAlgebra, SmallPowersAreProducts) {
    expect_rewrite(
        simplify_algebra, {f32({2, 3})},
        [](const Tensors& x) {
            return Tensors{ops::pow(x[0], number(2)), ops::pow(x[0], number(3))};
        },
        [](const Tensors& x) {
            return Tensors{ops::square(x[0]), ops::mul(ops::square(x[0]), x[0])};
        });
}

}  // namespace
}  // namespace mge::test

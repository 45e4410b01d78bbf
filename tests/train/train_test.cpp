// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>

#include "libmge/device/default_device.h"
#include "libmge/model/model.h"
#include "libmge/ops/elementwise/arithmetic.h"
#include "libmge/ops/elementwise/exponential.h"
#include "libmge/ops/linalg/matmul.h"
#include "libmge/ops/reduce/reduce.h"
#include "libmge/train/checkpoint.h"
#include "tests/harness/check_op.h"
#include "tests/harness/expect_error.h"
#include "tests/new_folder.h"

namespace mge {
namespace {

using test::error_of;
using test::tensor_of;
using test::values_of;
using testing::AllOf;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

constexpr double tolerance = 1e-6;  // a few f32 steps of values near 1

Tensor vector_of(std::vector<float> values) { return tensor_of<float>({int64_t(values.size())}, values); }

// The definition of the optimizers, one number at a time.
using Rule = std::function<double(double p, double g)>;
void expect_rule(const std::function<std::unique_ptr<Optimizer>(Parameters&)>& make,
                 const std::function<Rule()>& make_rule) {
    std::vector<double> expected{0.5, -1, 2};
    std::vector<Rule> rules{make_rule(), make_rule(), make_rule()};
    Parameters parameters;
    parameters.add("p", vector_of({0.5, -1, 2}));
    auto optimizer = make(parameters);
    for (int step = 0; step < 5; ++step) {
        std::vector<float> gradient;
        for (size_t i = 0; i < expected.size(); ++i) {
            gradient.push_back(float(std::sin(double(i) + step)));
            expected[i] = rules[i](expected[i], gradient[i]);
        }
        Tensor given = vector_of(gradient);
        optimizer->step({&given, 1});
        EXPECT_THAT(values_of(parameters[0]), Pointwise(DoubleNear(tolerance), expected)) << "step " << step;
    }
}

TEST(Optimizer, SgdFollowsItsFormula) {
    for (bool nesterov : {false, true}) {
        SgdOptions o{.learning_rate = 0.1, .momentum = 0.9, .weight_decay = 0.01, .nesterov = nesterov};
        expect_rule([&](auto& p) { return make_sgd(p, o); },
                    [&] {
                        return [o, v = 0.0](double p, double g) mutable {
                            g += o.weight_decay * p;
                            v = o.momentum * v + g;
                            return p - o.learning_rate * (o.nesterov ? g + o.momentum * v : v);
                        };
                    });
    }
    expect_rule([](auto& p) { return make_sgd(p, {.learning_rate = 0.5}); },
                [] { return [](double p, double g) { return p - 0.5 * g; }; });
}

TEST(Optimizer, AdamFollowsItsFormula) {
    for (bool decoupled : {false, true}) {
        AdamOptions o{
            .learning_rate = 0.05, .beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1, .decoupled = decoupled};
        expect_rule([&](auto& p) { return make_adam(p, o); },
                    [&] {
                        return [o, m = 0.0, v = 0.0, t = 0.0](double p, double g) mutable {
                            t += 1;
                            if (!o.decoupled) g += o.weight_decay * p;
                            m = o.beta1 * m + (1 - o.beta1) * g;
                            v = o.beta2 * v + (1 - o.beta2) * g * g;
                            double delta = m / (1 - std::pow(o.beta1, t)) /
                                           (std::sqrt(v / (1 - std::pow(o.beta2, t))) + o.epsilon);
                            return p - o.learning_rate * (delta + (o.decoupled ? o.weight_decay * p : 0));
                        };
                    });
    }
}

TEST(Optimizer, KeepsParametersWithoutGradient) {
    Parameters parameters;
    parameters.add("a", vector_of({1}));
    parameters.add("b", vector_of({2}));
    Tensor old = parameters[0];
    auto adam = make_adam(parameters, {});
    adam->step(std::array{Tensor(), vector_of({1})});
    EXPECT_TRUE(parameters[0].is_same(old));
    EXPECT_THAT(values_of(parameters[1]), ElementsAre(DoubleNear(1.999, tolerance)));
    EXPECT_THAT(error_of([&] { adam->step(std::array{Tensor()}); }),
                HasSubstr("got 1 gradient for 2 parameters"));
}

TEST(Optimizer, RefusesOptionsOutOfRange) {
    Parameters p;
    p.add("a", vector_of({1}));
    EXPECT_THAT(error_of([&] { make_sgd(p, {.learning_rate = -1}); }),
                HasSubstr("learning_rate may not be negative, got -1"));
    EXPECT_THAT(error_of([&] { make_sgd(p, {.momentum = NAN}); }), HasSubstr("momentum"));
    EXPECT_THAT(error_of([&] { make_sgd(p, {.nesterov = true}); }), HasSubstr("nesterov needs a momentum"));
    EXPECT_THAT(error_of([&] { make_adam(p, {.beta2 = 1}); }), HasSubstr("beta2 must be in [0, 1), got 1"));
}

TEST(Parameters, KeepNamesAndShapes) {
    Parameters p;
    EXPECT_EQ(p.add("w", vector_of({1, 2})), 0u);
    EXPECT_THAT(values_of(p.at("w")), ElementsAre(1, 2));
    EXPECT_THAT(error_of([&] { p.add("w", vector_of({1})); }), HasSubstr("a parameter 'w' already"));
    EXPECT_THAT(error_of([&] { p.add("", vector_of({1})); }), HasSubstr("needs a name"));
    EXPECT_THAT(error_of([&] { p.at("v"); }), HasSubstr("no parameter 'v'"));
    EXPECT_THAT(error_of([&] { p.set(0, vector_of({1})); }),
                AllOf(HasSubstr("'w' is"), HasSubstr("(2,)"), HasSubstr("(1,)")));
}

TEST(Differentiate, GivesLossAndGradients) {
    Parameters p;
    p.add("w", vector_of({1, 2}));
    p.add("unused", vector_of({1}));
    auto [loss, gradients] =
        differentiate(p, [](const Parameters& q) { return ops::sum(ops::square(q.at("w"))); });
    EXPECT_THAT(values_of(loss), ElementsAre(5));
    EXPECT_THAT(values_of(gradients[0]), ElementsAre(2, 4));
    EXPECT_FALSE(gradients[1]);
}

struct File {
    NewFolder folder{"mge_checkpoint"};
    std::string path = folder.file("checkpoint.mge");
};

Parameters start() {
    Parameters p;
    p.add("w", vector_of({1, 2, 3}));
    p.add("b", vector_of({0.5}));
    return p;
}
void train(Parameters& p, Optimizer& optimizer, int steps) {
    for (int i = 0; i < steps; ++i) {
        auto [loss, gradients] = differentiate(p, [](const Parameters& q) {
            return ops::sum(ops::square(ops::add(ops::exp(q.at("w")), q.at("b"))));
        });
        optimizer.step(gradients);
    }
}

using Make = std::function<std::unique_ptr<Optimizer>(Parameters&)>;
const Make makers[] = {
    [](Parameters& p) { return make_adam(p, {.learning_rate = 0.1}); },
    [](Parameters& p) { return make_sgd(p, {.learning_rate = 1e-3, .momentum = 0.9}); },
    [](Parameters& p) { return make_sgd(p, {.learning_rate = 1e-3}); },
};

TEST(Checkpoint, ResumesTraining) {
    for (auto& make : makers) {
        Parameters whole = start(), first = start(), second = start();
        auto optimizer = make(whole);
        train(whole, *optimizer, 7);

        File file;
        auto before = make(first);
        train(first, *before, 3);
        save_checkpoint(file.path, first, before.get(), {{"epoch", "3"}});
        auto after = make(second);
        after->set_learning_rate(123);
        EXPECT_EQ(load_checkpoint(file.path, second, after.get()).at("epoch"), "3");
        EXPECT_EQ(after->learning_rate(), before->learning_rate());
        train(second, *after, 4);
        for (size_t i = 0; i < whole.size(); ++i)
            EXPECT_EQ(values_of(second[i]), values_of(whole[i])) << optimizer->kind();
    }
}

TEST(Checkpoint, ContainsParametersOnly) {
    File file;
    save_checkpoint(file.path, start());
    Parameters p = start();
    p.set(1, vector_of({7}));
    load_checkpoint(file.path, p);
    EXPECT_THAT(values_of(p[1]), ElementsAre(0.5));
    auto adam = make_adam(p, {});
    EXPECT_THAT(error_of([&] { load_checkpoint(file.path, p, adam.get()); }),
                HasSubstr("has no state of an optimizer"));
}

TEST(Checkpoint, RefusesAnotherTrainingUnchanged) {
    File file;
    Parameters saved = start();
    auto adam = make_adam(saved, {});
    train(saved, *adam, 1);
    save_checkpoint(file.path, saved, adam.get());
    auto refusal = [&](Parameters& p, Optimizer* optimizer = nullptr) {
        auto before = p.values();
        std::string error = error_of([&] { load_checkpoint(file.path, p, optimizer); });
        for (size_t i = 0; i < p.size(); ++i) EXPECT_TRUE(p[i].is_same(before[i]));
        EXPECT_THAT(error, HasSubstr(file.path));
        return error;
    };
    Parameters other_name, other_shape, fewer, same = start();
    other_name.add("w", vector_of({1, 2, 3}));
    other_name.add("bias", vector_of({1}));
    EXPECT_THAT(refusal(other_name), HasSubstr("has no parameter 'bias'"));
    other_shape.add("w", vector_of({1, 2}));
    EXPECT_THAT(refusal(other_shape), HasSubstr("'parameter/w' is"));
    fewer.add("w", vector_of({1, 2, 3}));
    EXPECT_THAT(refusal(fewer), HasSubstr("has 2 parameters, expected 1"));
    auto sgd = make_sgd(same, {});
    EXPECT_THAT(refusal(same, sgd.get()), HasSubstr("is for optimizer 'adam', not 'sgd'"));
    EXPECT_THAT(error_of([&] { save_checkpoint(file.path, same, adam.get()); }),
                HasSubstr("other parameters"));
}

TEST(Checkpoint, IsNotAModel) {
    File file;
    Model model;
    model.graph.set_outputs({model.graph.add_constant(vector_of({1}), "w")});
    write_model(file.path, model);
    Parameters p = start();
    EXPECT_THAT(error_of([&] { load_checkpoint(file.path, p); }), HasSubstr("is a model, not a checkpoint"));
}

}  // namespace
}  // namespace mge

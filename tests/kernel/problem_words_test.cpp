// SPDX-License-Identifier: Apache-2.0
#include "libmge/kernel/problem_words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

namespace mge {
namespace {

struct Params {
    int64_t groups = 1;
    double scale = 1;
    std::string name = "a";
    IntList axes = {1, 2};
    FloatList bounds = {0.5};
    bool keeps = false;
    static constexpr auto fields =
        field_list(field<&Params::groups>("groups", ""), field<&Params::scale>("scale", ""),
                   field<&Params::name>("name", ""), field<&Params::axes>("axes", ""),
                   field<&Params::bounds>("bounds", ""), field<&Params::keeps>("keeps", ""));
    static constexpr auto erased = erase_fields(fields);
};

// All that a problem is made of.
struct Parts {
    std::string op = "sample";
    Params params;
    TensorSpecs inputs{{DType::f32, {2, 3}, {}}, {}}, outputs{{DType::f32, {2, 3}, {}}};
    uint32_t constant_inputs = 2;
    int threads = 1;
    Precision precision = Precision::strict;
    DeviceId device, output_device;

    ProblemWords words() const {
        Problem problem{op, &params, Params::erased, inputs, outputs};
        problem.constant_inputs = constant_inputs;
        problem.threads = threads;
        problem.precision = precision;
        problem.device = device;
        problem.output_device = output_device;
        return problem_words(problem);
    }
};

TEST(Problem, TreatsInputsBeyondItsBitsAsVariable) {
    Problem problem;
    problem.constant_inputs = 1u << 31 | 1u;
    for (size_t i : {0, 31}) EXPECT_TRUE(problem.is_constant(i)) << i;
    for (size_t i : {1, 30, 32, 33, 63, 64}) EXPECT_FALSE(problem.is_constant(i)) << i;
}

TEST(ProblemWords, AreEqualForEqualProblems) {
    Parts one, other;
    EXPECT_EQ(one.words(), other.words());
    EXPECT_EQ(HashWords{}(one.words()), HashWords{}(other.words()));
}

TEST(ProblemWords, DifferWhereAnythingDoes) {
    using Change = std::function<void(Parts&)>;
    const Change changes[] = {
        [](Parts&) {},
        [](Parts& p) { p.op = "samples"; },
        [](Parts& p) { p.params.groups = 2; },
        [](Parts& p) { p.params.scale = std::nextafter(1.0, 2.0); },
        [](Parts& p) { p.params.scale = -0.0; },
        [](Parts& p) { p.params.scale = 0.0; },
        [](Parts& p) { p.params.name = ""; },
        [](Parts& p) { p.params.name = "b"; },
        [](Parts& p) { p.params.name = std::string("a\0", 2); },
        [](Parts& p) { p.params.axes = {}; },
        [](Parts& p) { p.params.axes = {1}; },
        [](Parts& p) {
            p.params.axes = {2, 1};
        },
        [](Parts& p) {
            p.params.bounds = {0.5, 0.5};
        },
        [](Parts& p) { p.params.keeps = true; },
        [](Parts& p) { p.inputs.pop_back(); },
        [](Parts& p) { p.inputs.push_back({}); },
        [](Parts& p) { std::swap(p.inputs[0], p.inputs[1]); },
        [](Parts& p) { p.inputs[0].dtype = DType::f16; },
        [](Parts& p) {
            p.inputs[0].shape = {3, 2};
        },
        [](Parts& p) {
            p.inputs[0].shape = {2, 3, 1};
        },
        [](Parts& p) { p.inputs[0].shape = Shape::unknown(); },
        [](Parts& p) { p.inputs[0].shape = {}; },
        [](Parts& p) { p.inputs[0].layout = Layout::named("nhwc"); },
        [](Parts& p) { p.inputs[0].layout = Layout::named("nChw8c"); },
        [](Parts& p) { p.outputs[0].layout = Layout::named("nhwc"); },
        [](Parts& p) {
            p.outputs[0].shape = {2, 4};
        },
        [](Parts& p) { p.constant_inputs = 0; },
        [](Parts& p) { p.threads = 2; },
        [](Parts& p) { p.precision = Precision::relaxed; },
        [](Parts& p) { p.device.index = 1; },
        [](Parts& p) { p.device.stream = 1; },
        [](Parts& p) { p.output_device.index = 1; },
    };
    std::set<ProblemWords> all;
    for (auto& change : changes) {
        Parts parts;
        change(parts);
        EXPECT_TRUE(all.insert(parts.words()).second) << "change " << &change - changes;
    }
}

}  // namespace
}  // namespace mge

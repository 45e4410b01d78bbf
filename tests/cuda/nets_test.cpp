// SPDX-License-Identifier: Apache-2.0
// Whole nets on a GPU and on the CPU: outputs, gradients and some steps of training, at once and compiled.
#include "tests/cuda/nets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "libmge/mge.h"
#include "tests/harness/check_op.h"
#include "tests/harness/other_device.h"
#include "tests/passes/same_graph.h"

namespace mge::test {

void PrintTo(const Net& net, std::ostream* out);
void PrintTo(const Net& net, std::ostream* out) { *out << net.name; }

namespace {

DeviceId gpu() { return other_device().id; }

// Errors of single operators add up over a net; they go with its largest values.
void expect_near(const Tensor& got, const Tensor& expected, double tolerance, const std::string& what) {
    auto a = values_of(to_host(got)), b = values_of(to_host(expected));
    ASSERT_EQ(a.size(), b.size()) << what;
    double largest = 0, difference = 0;
    for (double value : b) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < a.size(); ++i) {
        ASSERT_TRUE(std::isfinite(a[i])) << what << ", element " << i;
        difference = std::max(difference, std::abs(a[i] - b[i]));
    }
    EXPECT_LE(difference, tolerance * (largest + 1e-3)) << what;
}
constexpr double close = 1e-4;

Tensors at(DeviceId id, const Tensors& tensors) {
    Tensors moved;
    for (auto& tensor : tensors) moved.push_back(to_device(tensor, id));
    return moved;
}
Parameters at(DeviceId id, const Parameters& parameters) {
    Parameters moved;
    for (size_t i = 0; i < parameters.size(); ++i)
        moved.add(parameters.names()[i], to_device(parameters[i], id));
    return moved;
}
Net at(DeviceId id, const Net& net) {
    return {net.name,   at(id, net.parameters), at(id, net.data), to_device(net.targets, id),
            net.output, net.make_optimizer};
}
Tensor output_of(const Net& net) { return net.output(net.parameters, net.data, false); }

// Cross entropy.
LossAndGradients differentiated(const Net& net) {
    return differentiate(net.parameters, [&](const Parameters& p) {
        Tensor log = ops::softmax(net.output(p, net.data, true), {.axis = 1, .log = true});
        return ops::mean(ops::neg(ops::sum(ops::mul(log, net.targets), {.axes = {1}})));
    });
}

Tensors operands_of(const Net& net) {
    Tensors operands = net.parameters.values();
    operands.insert(operands.end(), net.data.begin(), net.data.end());
    operands.push_back(net.targets);
    return operands;
}
// With its weights in it, as a file has it.
Graph inference_graph(const Net& net) {
    TensorSpecs specs;
    for (auto& value : net.data) specs.push_back(value.spec());
    return record(specs, [&](const Tensors& x) { return Tensors{net.output(net.parameters, x, false)}; });
}
// Disables the tapes of the thread for the lifetime of the scope.
class BelowTapes {
public:
    explicit BelowTapes(Interpreter& interpreter) : before_(exchange_base_interpreter(&interpreter)) {}
    ~BelowTapes() { exchange_base_interpreter(before_); }
    BelowTapes(const BelowTapes&) = delete;

private:
    Interpreter* before_;
};

// The loss, and of each parameter that has one its gradient.
Graph training_graph(const Net& net) {
    GraphBuilder builder;
    auto symbol = [&](const Tensor& value, const std::string& name) {
        return builder.input(value.spec(), name);
    };
    Net symbolic = net;
    symbolic.parameters = {};
    for (size_t i = 0; i < net.parameters.size(); ++i) {
        auto& name = net.parameters.names()[i];
        symbolic.parameters.add(name, symbol(net.parameters[i], name));
    }
    for (size_t i = 0; i < net.data.size(); ++i) symbolic.data[i] = symbol(net.data[i], text("data", i));
    symbolic.targets = symbol(net.targets, "targets");
    BelowTapes scope(builder);
    auto [loss, gradients] = differentiated(symbolic);
    Tensors results{loss};
    for (auto& gradient : gradients)
        if (gradient) results.push_back(gradient);
    builder.set_outputs(std::move(results));
    return builder.take();
}

class Nets : public testing::TestWithParam<Net> {};
INSTANTIATE_TEST_SUITE_P(Cuda, Nets, testing::ValuesIn(make_nets()),
                         [](auto& info) { return info.param.name; });

TEST_P(Nets, OutputsMatchTheCpu) {
    auto& net = GetParam();
    Tensor expected = output_of(net);
    expect_near(output_of(at(gpu(), net)), expected, close, "at once");
    struct Variant {
        const char* name;
        int level = 2, record_level = 0;
        bool measures = false;
        Precision precision = Precision::strict;
        double tolerance = close;
    };
    constexpr double rounded = 2e-2;  // factors, to bf16 or TF32
    for (auto& variant :
         {Variant{"as it is written", 0}, Variant{"optimised"},
          Variant{.name = "recorded", .record_level = 1}, Variant{.name = "by fast-run", .measures = true},
          Variant{.name = "relaxed, by fast-run",
          .measures = true,
          .precision = Precision::relaxed,
          .tolerance = rounded}}) {
        CompileOptions options;
        options.device = gpu();
        options.level = variant.level;
        options.precision = variant.precision;
        options.comp_node_seq_record_level = variant.record_level;
        options.var_sanity_check_first_run = !variant.record_level;
        options.select.profile = variant.measures;
        options.select.heuristic = !variant.measures;
        Executable executable(inference_graph(net), options);
        Tensors data = at(gpu(), net.data);
        for (int run = 0; run < 4; ++run)
            expect_near(executable.run(data)[0], expected, variant.tolerance,
                        text(variant.name, ", run ", run));
    }
}

// The parameters of batch norms stay f32.
TEST_P(Nets, HalvesAreCloseToTheCpu) {
    auto& net = GetParam();
    Tensor expected = output_of(net);
    for (auto [dtype, tolerance] : {std::pair{DType::f16, 2e-2}, std::pair{DType::bf16, 1e-1}}) {
        auto narrow = [dtype = dtype](const Tensor& x) {
            return x.dtype() == DType::f32 ? ops::convert(x, {.dtype = dtype}) : x;
        };
        Net half = net;
        half.parameters = {};
        for (size_t i = 0; i < net.parameters.size(); ++i) {
            auto& name = net.parameters.names()[i];
            half.parameters.add(
                name, name.find(".norm.") == name.npos ? narrow(net.parameters[i]) : net.parameters[i]);
        }
        for (auto& x : half.data) x = narrow(x);
        CompileOptions options;
        options.device = gpu();
        options.select.profile = true;
        options.select.heuristic = false;
        Executable executable(inference_graph(half), options);
        Net there = at(gpu(), half);
        for (auto& got : {output_of(there), executable.run(there.data)[0]})
            expect_near(got, expected, tolerance, text(dtype));
    }
}

TEST_P(Nets, GradientsMatchTheCpu) {
    auto& net = GetParam();
    auto expected = differentiated(net), got = differentiated(at(gpu(), net));
    expect_near(got.loss, expected.loss, close, "loss");
    for (size_t i = 0; i < net.parameters.size(); ++i) {
        ASSERT_EQ(bool(got.gradients[i]), bool(expected.gradients[i])) << net.parameters.names()[i];
        if (!got.gradients[i]) continue;
        expect_near(got.gradients[i], expected.gradients[i], 10 * close, net.parameters.names()[i]);
    }
}

// The losses of training steps, with any function for loss and gradients.
std::vector<double> losses_of(Net net, const std::function<LossAndGradients(const Net&)>& differentiate) {
    auto optimizer = net.make_optimizer(net.parameters);
    std::vector<double> losses;
    for (int step = 0; step < 6; ++step) {
        auto [loss, gradients] = differentiate(net);
        losses.push_back(values_of(to_host(loss))[0]);
        optimizer->step(gradients);
    }
    return losses;
}

TEST_P(Nets, TrainingLossesMatchTheCpu) {
    auto& net = GetParam();
    auto expected = losses_of(net, differentiated);
    EXPECT_LT(expected.back(), expected.front());
    constexpr double drift = 2e-3;  // accumulated over the steps
    auto is_near = testing::Pointwise(testing::DoubleNear(drift), expected);
    EXPECT_THAT(losses_of(at(gpu(), net), differentiated), is_near) << "at once";
    CompileOptions options;
    options.device = gpu();
    options.comp_node_seq_record_level = 1;
    options.var_sanity_check_first_run = false;
    Executable executable(training_graph(net), options);
    auto which = differentiated(net).gradients;
    auto compiled = [&](const Net& now) {
        Tensors results = executable.run(operands_of(now)), gradients;
        for (size_t i = 0, next = 1; i < which.size(); ++i)
            gradients.push_back(which[i] ? results.at(next++) : Tensor());
        return LossAndGradients{results[0], gradients};
    };
    EXPECT_THAT(losses_of(at(gpu(), net), compiled), is_near) << "compiled and recorded";
}

}  // namespace
}  // namespace mge::test

// SPDX-License-Identifier: Apache-2.0
// Random networks, compiled without passes, with each pass alone and with all of them: all give what eager
// operators give. The input is the network (random_network.h). A finding prints the graph.
#include "libmge/passes/pass.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "libmge/base/env.h"
#include "libmge/compile/program.h"
#include "libmge/graph/graph.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/random_network.h"
#include "tests/harness/tolerance.h"

namespace mge::fuzz {
namespace {

[[noreturn]] void report(const Network& network, const std::string& variant, const std::string& what,
                         const Graph* after = nullptr) {
    std::string message = text(variant, ": ", what, "\nthe network is\n", to_text(network.graph));
    if (after) message += text("after the pass it is\n", to_text(*after));
    throw std::logic_error(message);
}

CompileOptions plain_options() {
    CompileOptions options;
    options.threads = 1;
    options.level = 0;
    options.verify_passes = true;
    return options;
}

// Variants that store values in fewer bits change all results.
double tolerance(const Network& network, const std::string& variant) {
    double relative = 4 * test::tolerance(DType::f32, 1 << 20);
    if (network.has_halves) relative = 4 * test::tolerance(DType::f16, 1 << 20);
    if (variant == "store_as_f16") relative = 0.1;
    if (variant == "store_as_bf16" || variant == "compress_weights") relative = 0.5;
    return relative * network.largest;
}

void compare(const Network& network, const std::string& variant, const Tensors& got,
             const Graph* after = nullptr) {
    double allowed = tolerance(network, variant);
    bool moves_steps = network.has_steps && allowed > 0.05 * network.largest;
    for (size_t i = 0; i < network.outputs.size(); ++i) {
        auto& expected = network.outputs[i];
        if (!(got[i].spec() == expected.spec()))
            report(network, variant, text("output ", i, " is ", got[i].spec(), ", not ", expected.spec()),
                   after);
        auto *a = got[i].data<float>(), *b = expected.data<float>();
        for (int64_t k = 0; k < expected.spec().numel() && !moves_steps; ++k)
            if (!(std::abs(a[k] - b[k]) <= allowed) && !(std::isnan(a[k]) && std::isnan(b[k])))
                report(network, variant,
                       text("output ", i, " of ", expected.shape(), ", element ", k, ": ", a[k],
                            " instead of ", b[k], ", the tolerance is ", allowed),
                       after);
    }
}

void run(const Network& network, const std::string& variant, const Graph& graph,
         const CompileOptions& options) {
    Tensors outputs;
    const Graph* after = &graph == &network.graph ? nullptr : &graph;
    try {
        auto program = Program::compile(graph, options);
        if (env_int("MGE_FUZZ_SHOW").value_or(0))
            std::fprintf(stderr, "%s %s\n%s\n", variant.c_str(), options.layout.c_str(),
                         to_text(program->graph()).c_str());
        auto context = Context::create(program);
        for (size_t i = 0; i < network.inputs.size(); ++i)
            context->bind_input(i, network.inputs[i].address());
        for (int time = 0; time < 2; ++time) context->run();
        for (size_t i = 0; i < network.outputs.size(); ++i) outputs.push_back(context->copy_output(i));
    } catch (const std::exception& e) {
        report(network, variant, e.what(), after);
    }
    compare(network, variant, outputs, after);
}

Graph passed(const Network& network, const std::string& variant, const PassOptions& options) {
    try {
        return run_passes(network.graph, options);
    } catch (const std::exception& e) {
        report(network, variant, e.what());
    }
}

PassOptions pass_options(bool fixed_shapes) {
    PassOptions options;
    options.fixed_shapes = fixed_shapes;
    options.verify = true;
    options.threads = 1;
    options.weight_bits = 8;
    return options;
}

void try_each_pass(const Network& network, bool fixed_shapes) {
    auto options = pass_options(fixed_shapes);
    options.level = 0;
    options.weight_bits = 0;
    const std::string before = to_text(passed(network, "none", options));
    options.weight_bits = 8;
    for (auto& pass : pipeline()) {
        const std::string name(pass.name);
        // At run time a model's shapes are known.
        if (!fixed_shapes && name == "choose_layout") continue;
        options.passes = {{name, true}};
        if (name != "compress_weights") options.passes["compress_weights"] = false;
        Graph after = passed(network, name, options);
        if (to_text(after) != before) run(network, name, after, plain_options());
    }
}

CompileOptions any_options(Choices& choices) {
    constexpr const char* layouts[] = {"auto", "auto", "nhwc", "nChw8c", "nChw16c", "nChw4c", "nchw"};
    CompileOptions options = plain_options();
    options.level = 2 + int(choices.below(2));
    options.layout = choices.pick(layouts);
    options.select.reference = choices.one_in(8);
    return options;
}

}  // namespace

void try_input(Bytes input) {
    const Network network = network_of(input);
    if (env_int("MGE_FUZZ_SHOW").value_or(0)) std::fprintf(stderr, "%s\n", to_text(network.graph).c_str());
    // The last bytes of the header: those before choose inputs and outputs.
    Choices choices(
        input.first(std::min(input.size(), network_header)).last(std::min<size_t>(input.size(), 4)));
    run(network, "no passes", network.graph, plain_options());
    run(network, "all passes", network.graph, any_options(choices));
    try_each_pass(network, !choices.one_in(4));
    if (choices.one_in(4)) {
        auto options = pass_options(false);
        options.passes["choose_layout"] = options.passes["compress_weights"] = false;
        Graph after = passed(network, "all passes for any shape", options);
        run(network, "all passes for any shape", after, plain_options());
    }
    // Compares each value that a pass replaced.
    if (choices.one_in(4)) {
        auto options = plain_options();
        options.level = -2;
        run(network, "a checked level", network.graph, options);
    }
}

std::vector<std::string> seeds() {
    std::vector<std::string> result = data_files("fuzz/passes");
    Random random(1);
    for (int i = 0; i < 16; ++i) {
        std::string bytes(network_header + network_step * (1 + random.below(most_network_steps)), 0);
        for (char& byte : bytes) byte = char(random.bits());
        result.push_back(bytes);
    }
    return result;
}

// Mostly another network; else other choices in one, or its steps in another order.
void mutate(std::string& input, Random& random) {
    if (random.one_in(2)) {
        input.resize(network_header + network_step * (1 + random.below(most_network_steps)));
        for (char& byte : input) byte = char(random.bits());
        return;
    }
    if (input.empty()) return;
    switch (random.below(3)) {
        case 0:
            input[random.below(input.size())] = char(random.bits());
            break;
        case 1:
            input.resize(input.size() - std::min(input.size() - 1, network_step));
            break;
        default:
            for (size_t i = 0; i < network_step; ++i) input.push_back(char(random.bits()));
    }
}

}  // namespace mge::fuzz
